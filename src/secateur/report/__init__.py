"""The report: rules as one HTML page. ``summarize`` gathers a dict, ``page`` renders it, ``Report`` holds both."""

from secateur.report.page import Report, make_report, render_page
from secateur.report.summarize import summarize

__all__ = ["Report", "make_report", "render_page", "summarize"]

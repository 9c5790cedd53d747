"""Rules as a rich table for terminals."""

from rich.table import Table
from rich.text import Text

from secateur.export.listing import ListedLine, make_listing
from secateur.rules.rules import Rules


def rules_to_table(
    rules: Rules, *, reasons: bool = False, title: str | None = None, caption: str | None = None
) -> Table:
    """Make a row for each line: what it asks, its class and its rows; with the reason of each condition if asked."""
    listing = make_listing(rules, reasons=reasons)
    table = Table(
        title=title or listing.title,
        caption=Text("\n".join([*listing.before, *listing.after]) if caption is None else caption),
        title_justify="left",
        caption_justify="left",
        show_lines=reasons,
    )
    table.add_column("#", justify="right", style="dim")
    table.add_column("if", ratio=3)
    table.add_column("then", style="bold")
    table.add_column(listing.rows_title)
    for line in listing.lines:
        if line.heading:
            table.add_row("", Text(f"Among {line.heading}", style="bold"), "", "")
        table.add_row(str(line.number), _write_asked(line), Text(line.class_name), Text(line.rows))
    return table


def _write_asked(line: ListedLine) -> Text:
    """Write what a line asks, and a line for each condition with its reason: struck through if it was deleted."""
    body = Text(line.asked, style="bold" if line.reasons else "italic" if line.is_otherwise else "")
    for condition in line.deleted if not line.reasons else ():
        body.append("\n✂ ", style="red").append(condition, style="strike dim")
    for one in line.reasons:
        body.append("\n✂ " if one.deleted else "\n• ", style="red" if one.deleted else "green")
        body.append(one.condition, style="strike dim not bold" if one.deleted else "not bold")
        body.append(f"  {one.text}", style="dim not bold")
    return body

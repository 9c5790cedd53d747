"""How conditions, numbers, dates, reasons and stated facts are put into words."""

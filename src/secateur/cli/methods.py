"""``secateur methods``: list the methods and what each guarantees."""

from secateur.cli.options import Json


def command(as_json: Json = False) -> None:
    """List the methods, from the strictest guarantee to none."""
    from rich.text import Text

    from secateur.cli.console import out, print_json
    from secateur.methods import METHODS

    if as_json:
        listed = ("name", "aliases", "summary", "preserves", "needs_rows", "source")
        print_json([{name: getattr(method, name) for name in listed} for method in METHODS.values()])
        return
    out.print("Methods, from the strictest guarantee to none:\n")
    for method in METHODS.values():
        names = f" (also {', '.join(method.aliases)})" if method.aliases else ""
        needs = "needs training rows" if method.needs_rows else "needs no rows"
        if "domain" in method.parameters:
            needs = "certified by training rows, a domain or monotone signs"
        out.print(Text.assemble((method.name, "bold"), names))
        out.print(Text(f"  {method.summary}"))
        out.print(Text.assemble("  preserves ", (method.preserves, "green"), f"; {needs}"))
        out.print(Text(f"  from: {method.source}", style="dim"))

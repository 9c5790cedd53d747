"""Long CASE statements as text: sqlglot writes the pieces, one that comes again only once, and they are joined here.

A tree that nobody pruned asks for tens of thousands of limits in hundreds of thousands of places: as nodes of a syntax
tree they take five times as long. The text is the one that sqlglot would write.
"""

from collections.abc import Sequence

from sqlglot import Dialect, exp

from secateur.export.sql_nodes import MOST_JOINED, Node, comment, join

IN_A_LINE = 20  # numbers of a long list


class Writer:
    """Write pieces of SQL, and join them."""

    def __init__(self, dialect: str) -> None:
        self._generator = Dialect.get_or_raise(dialect).generator(pretty=True)

    def write(self, node: Node) -> str:
        """Write a node, which is not copied."""
        return self._generator.sql(node)  # line breaks in texts stay marked, until the whole statement is written

    def join_by_and(self, parts: Sequence[Node | str]) -> str:
        """Join conditions, of which those that are an OR get brackets."""
        if len(parts) > MOST_JOINED:
            return self.write(join(exp.and_, [exp.Var(this=part) if isinstance(part, str) else part for part in parts]))
        written = []
        for part in parts:
            if isinstance(part, exp.Connector) and len(parts) > 1:
                part = exp.Paren(this=part)
            written.append(part if isinstance(part, str) else self.write(part))
        return ("\nAND " if self._is_wide(["AND ".join(written)]) else " AND ").join(written)

    def write_branch(self, condition: str, answer: str, words: str = "") -> list[str]:
        """Write a branch of a CASE, with words beside it."""
        return [f"WHEN {condition}", f"THEN {self.write_with(answer, words)}"]

    def write_with(self, answer: str, words: str) -> str:
        """Write words beside an answer."""
        said = comment(words) if words else ""
        return f"{answer} /* {said} */" if said else answer

    def write_is_in(self, value: str, listed: Sequence[str]) -> str:
        """Ask whether a value is one of those listed; a long list has lines."""
        if len(listed) == 1:
            return f"{value} = {listed[0]}"
        lines = [", ".join(listed[start : start + IN_A_LINE]) for start in range(0, len(listed), IN_A_LINE)]
        return f"{value} IN ({lines[0]})" if len(lines) == 1 else f"{value} IN (\n  " + ",\n  ".join(lines) + "\n)"

    def join_case(self, branches: Sequence[str], default: str = "") -> Node:
        """Join the lines of branches to a CASE."""
        lines = ["CASE", *branches, *([f"ELSE {default}"] if default else []), "END"]
        if not self._is_wide(lines):
            return exp.Var(this=" ".join(lines))
        return exp.Var(this=self._generator.indent("\n".join(lines), skip_first=True, skip_last=True))

    def _is_wide(self, parts: Sequence[str]) -> bool:
        return self._generator.too_wide(parts)

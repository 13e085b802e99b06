"""A transcript in Markdown: what is typed, what is shown, and whether a shell says the same.

A block fenced as `console` is a transcript. A line that begins with `$ ` is typed, with the lines
that a backslash continues; the lines below it, up to the next `$ `, are what it shows on both
outputs. `…` stands for what varies within a line, at least one character. In a block fenced as `console soon` a command
that shows something else is typed again for up to twenty seconds: it asks for news that travels.

A block fenced as `sh` is typed by a person and not run here. There are no other blocks.
"""

import dataclasses
import re
import shlex
import subprocess
import threading
import time
import uuid

FENCE = "```"
SOON_SECONDS = 20
COMMAND_SECONDS = 60


@dataclasses.dataclass
class Command:
    line: int
    text: str
    shows: list
    soon: bool = False


def blocks(markdown):
    """Each fenced block: the line of its fence, what the fence says, and its lines."""
    kind, began, lines = None, 0, []
    for number, line in enumerate(markdown.splitlines(), start=1):
        if kind is None and line.startswith(FENCE):
            kind, began, lines = line.removeprefix(FENCE).strip(), number, []
        elif kind is not None and line == FENCE:
            yield began, kind, lines
            kind = None
        elif kind is not None:
            lines.append(line)
    assert kind is None, f"line {began}: the block is never closed"


def commands(markdown):
    """What the transcripts type, in order."""
    found = []
    for began, kind, lines in blocks(markdown):
        if kind not in ("console", "console soon"):
            continue
        assert lines and lines[0].startswith("$ "), f"line {began}: a transcript begins with a command"
        continued = False
        for number, line in enumerate(lines, start=began + 1):
            if line.startswith("$ "):
                found.append(Command(number, line[2:], [], soon=kind.endswith("soon")))
            elif continued:
                found[-1].text += "\n" + line
            else:
                found[-1].shows.append(line)
            continued = (line.startswith("$ ") or continued) and unfinished(found[-1].text)
    return found


def unfinished(text):
    """Does the shell wait for more: a continued line, or an open quote?"""
    if text.endswith("\\"):
        return True
    try:
        shlex.split(text)
        return False
    except ValueError:
        return True


def alike(shows, got):
    """Are these the lines that the transcript shows?"""
    return len(shows) == len(got) and all(
        re.fullmatch(".+".join(re.escape(part) for part in line.split("…")), other)
        for line, other in zip(shows, got))


class Shell:
    """One bash: what a command sets, the next one sees."""

    def __init__(self, folder, environment):
        self.bash = subprocess.Popen(["bash", "--noprofile", "--norc"], cwd=folder, env=environment, text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.bash.kill()
        self.bash.wait()
        self.bash.stdin.close()
        self.bash.stdout.close()

    def run(self, text):
        """The lines that a command shows, on both outputs."""
        end = uuid.uuid4().hex
        watchdog = threading.Timer(COMMAND_SECONDS, self.bash.kill)
        watchdog.start()
        try:
            self.bash.stdin.write(f"eval {shlex.quote(text)} </dev/null; printf '\\n%s\\n' {end}\n")
            self.bash.stdin.flush()
            shown = "".join(iter(lambda: self.until(end, text), None))
        finally:
            watchdog.cancel()
        # The end stands on a line of its own, also after an output without a last newline.
        return shown.removesuffix("\n").splitlines()

    def until(self, end, text):
        line = self.bash.stdout.readline()
        assert line, f"the shell ended, or {COMMAND_SECONDS} s passed, at: {text}"
        return None if line == end + "\n" else line


def difference(shell, command):
    """What the shell shows instead; nothing if it is as written."""
    end = time.monotonic() + (SOON_SECONDS if command.soon else 0)
    while not alike(command.shows, got := shell.run(command.text)):
        if time.monotonic() >= end:
            return "\n".join([f"line {command.line}: $ {command.text}", "shows", *got, "instead of", *command.shows])
    return None

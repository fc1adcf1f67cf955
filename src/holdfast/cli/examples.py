"""An example or more for every command: shown by --help, checked against the reference."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "submit": (
        "holdfast submit reports --org acme --name report.pdf --meta team=sales",
        "holdfast submit reports --org acme --input '{\"pages\": 3}' --key report-2026",
        "cat documents.jsonl | holdfast submit reports --org acme --file -",
    ),
    "ingest": (
        "holdfast ingest ./library --org acme --meta team=sales",
        "holdfast ingest report.pdf https://example.com/terms.html",
        "cat minutes-*.md | holdfast ingest - --name minutes.md",
        "holdfast ingest ./inbox --watch",
    ),
    "search": (
        "holdfast search when does the tidal gate open",
        "holdfast search '\"chart datum\" -harbour' --by words --limit 3",
        "holdfast search mooring fees --org acme --meta team=sales --graph --json",
    ),
    "worker": (
        "holdfast worker",
        "holdfast worker --pipeline documents --phase embed --concurrency 4",
        "holdfast worker --drain",
    ),
    "serve": ("holdfast serve", "holdfast serve --host 0.0.0.0 --port 8080"),
    "up": ("holdfast up", "holdfast up --port 8080 --concurrency 4"),
    "mcp": ("holdfast mcp --org acme",),
    "status": ("holdfast status", "holdfast status --json"),
    "queues": ("holdfast queues",),
    "jobs": (
        "holdfast jobs --state failed --component parse",
        "holdfast jobs --org acme --meta team=sales --limit 100 --json",
        "holdfast jobs --text 'report 18'",
    ),
    "show": ("holdfast show 17", "holdfast show --document 42"),
    "errors": ("holdfast errors", "holdfast errors --by fingerprint --days 30"),
    "errors top": ("holdfast errors top --limit 5",),
    "errors recovery": ("holdfast errors recovery",),
    "errors repeat": ("holdfast errors repeat --times 2",),
    "errors refusals": ("holdfast errors refusals --days 30",),
    "stats": ("holdfast stats durations --hours 1", "holdfast stats costs --days 30"),
    "stats throughput": ("holdfast stats throughput --hours 24",),
    "stats durations": ("holdfast stats durations",),
    "stats costs": ("holdfast stats costs --days 30",),
    "stats platforms": ("holdfast stats platforms",),
    "stats retries": ("holdfast stats retries",),
    "stats backlog": ("holdfast stats backlog",),
    "workers": ("holdfast workers",),
    "policies": ("holdfast policies", "holdfast policies patient"),
    "trials": ("holdfast trials",),
    "retry": (
        "holdfast retry 17 18",
        "holdfast retry 16 --phase extract",
        "holdfast retry --category network_timeout --dry-run",
        'holdfast retry --pipeline documents --component parse --reason "parser fixed"',
        "holdfast retry --category corrupt_input --first 1",
    ),
    "reset": ("holdfast reset 17", "holdfast reset --state deadletter --org acme --dry-run"),
    "cancel": ("holdfast cancel 17", 'holdfast cancel --state queued --org acme --reason "wrong upload"'),
    "requeue-stuck": ("holdfast requeue-stuck --phase embed --stuck-for-minutes 30 --dry-run",),
    "hold": (
        'holdfast hold --provider openai --for 2h --reason "their incident"',
        "holdfast hold --pipeline documents --phase embed",
        "holdfast hold --list",
    ),
    "release": ("holdfast release 3",),
    "budget": ("holdfast budget",),
    "budget set": (
        "holdfast budget set enrichment 20",
        "holdfast budget set enrichment 2 --org acme --time-zone Europe/Zurich",
    ),
    "doctor": ("holdfast doctor", "holdfast doctor --repair", "holdfast doctor --deep"),
    "delete": ("holdfast delete 42", "holdfast delete 42 43 --yes --json"),
    "clean": ("holdfast clean",),
    "reindex": ("holdfast reindex --model openai", "holdfast reindex --model light --prune"),
    "migrate": ("holdfast migrate", "holdfast migrate --check"),
    "keys": ("holdfast keys create crm --org acme --scope write", "holdfast keys list"),
    "keys create": ("holdfast keys create crm --org acme", "holdfast keys create monitor --scope admin --json"),
    "keys list": ("holdfast keys list",),
    "keys revoke": ("holdfast keys revoke 1",),
}


def epilog(command: str) -> str:
    """The examples as the last lines of a command's help; the mark keeps them on lines of their own."""
    return "\n".join(("\b", "Examples:", *(f"  {example}" for example in EXAMPLES[command])))

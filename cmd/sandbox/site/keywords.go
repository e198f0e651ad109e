package main

// keywords are terms that readers search for and that a document does not use, or not in its title or
// headings. A search for exactly such a term shows the document first.
var keywords = map[string][]string{
	"cmd/lkeplan/README.md": {
		"cli", "command line", "commands", "exit code", "exit codes", "exit status", "flags", "options", "subcommands",
	},
	"examples/batch/README.md":     {"preemptible", "spot", "spot instances"},
	"examples/cost-caps/README.md": {"cost", "costs", "spend", "spending limit"},
	"examples/critical/README.md":  {"deletion protection", "prevent_destroy", "protected pools"},
	"examples/moving-in/README.md": {
		"autoscaler", "cluster autoscaler", "cluster-autoscaler", "import", "migrate", "migration",
	},
	"examples/office-hours/README.md": {
		"business days", "business hours", "maintenance window", "maintenance windows", "working hours",
	},
	"examples/operations/README.md": {"remove lkeplan", "roll back", "rollback", "uninstall"},
}

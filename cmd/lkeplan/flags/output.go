package flags

import (
	"cmp"
	"io"
	"slices"

	"github.com/spf13/cobra"

	reports "github.com/lkeplan/lkeplan/engine/report"
)

// Output is where and how a command writes its report of a plan: to standard
// output in one format, and to any number of files in others.
type Output struct {
	Format   Choice
	Files    reports.Files
	Color    Choice
	ascii    bool
	width    int
	maxChars int
	all      bool
}

// Add adds the flags of commands that report a plan.
func (o *Output) Add(cmd *cobra.Command) {
	o.Format = Choice{Value: "text", Of: reports.Formats()}
	o.Color = Choice{Value: "auto", Of: []string{"auto", "always", "never"}}
	o.Format.Flag(cmd, "output", "o", "print the result as `FORMAT`")
	o.Color.Flag(cmd, "color", "", "`WHEN` to color text")
	cmd.Flags().Var(&o.Files, "out",
		"also write the result to a file: `FORMAT=FILE`; the FILE \"-\" is standard output; github-output needs no FILE; "+
			"may be repeated")
	cmd.Flags().BoolVar(&o.ascii, "ascii", false, "write text in ASCII (default: if the locale is not UTF-8)")
	cmd.Flags().IntVar(&o.width, "width", 0,
		"wrap text at `COLUMNS` (default: the width of the terminal)")
	cmd.Flags().BoolVar(&o.all, "all", false, "list each object, even if several have the same change")
	cmd.Flags().IntVar(&o.maxChars, "max-chars", reports.MaxComment,
		"shorten markdown to `CHARACTERS`")
	// It fails only for an unknown flag.
	_ = cmd.RegisterFlagCompletionFunc("out", completeOut)
}

// OutDir adds the flag of a directory for files.
func OutDir(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "out-dir", "", "write files to `DIR`, and create it if it is missing")
	_ = cmd.MarkFlagDirname("out-dir") // fails only for an unknown flag
}

// Uses says when flags have an effect: some are for some formats only.
func (o *Output) Uses() []Use {
	in := func(formats ...string) func() bool {
		return func() bool {
			return slices.Contains(formats, o.Format.Value) ||
				slices.ContainsFunc(o.Files, func(f reports.File) bool { return slices.Contains(formats, f.Format) })
		}
	}
	text := in("text")
	return []Use{
		{"ascii width", text, "is for text"},
		{"color", func() bool { return o.Color.Value != "always" || text() }, "is for text"},
		{"max-chars", in("markdown"), "is for markdown"},
		{"all", in("text", "markdown"), "is for text and markdown"},
	}
}

// completeOut completes --out with the names of the formats.
func completeOut(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	for _, format := range reports.Formats() {
		names = append(names, format+"=")
	}
	return names, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// Columns returns the width of text: that of --width, or else of the terminal; 0 if neither is known.
func (o *Output) Columns(stdout io.Writer, getenv func(string) string) int {
	return cmp.Or(o.width, Columns(stdout, getenv))
}

// Write writes a report to files, and then to standard output. The options describe
// the subject of the report.
func (o *Output) Write(stdout io.Writer, getenv func(string) string, r reports.Report, opts reports.Options) error {
	opts.MaxChars, opts.Width, opts.All = o.maxChars, o.width, o.all
	opts.ASCII, opts.Color = o.ascii || !Unicode(getenv), o.Color.Value == "always"
	printed := []string{o.Format.Value}
	for _, f := range o.Files {
		if f.Name == reports.StandardOutput {
			printed = append(printed, f.Format)
		} else if err := f.Write(r, opts, getenv); err != nil {
			return err
		}
	}
	opts.Width = o.Columns(stdout, getenv)
	opts.Color = opts.Color || o.Color.Value == "auto" && Colored(stdout, getenv)
	for _, format := range printed {
		if err := reports.Write(stdout, format, r, opts); err != nil {
			return err
		}
	}
	return nil
}

package report

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/engine/files"
)

// StandardOutput is the name that stands for it in place of a file.
const StandardOutput = "-"

// outputs is the format that is appended to a file, which GitHub Actions names by a variable.
const (
	outputs     = "github-output"
	outputsFile = "GITHUB_OUTPUT"
)

// KnowsFile reports whether a format needs no file name.
func KnowsFile(format string) bool { return format == outputs }

// File is one report in addition to that on standard output.
type File struct{ Format, Name string }

// Write replaces the content of the file with the report, or appends it. An environment variable may name the file.
func (f File) Write(r Report, o Options, getenv func(string) string) error {
	if f.Name == getenv("GITHUB_STEP_SUMMARY") {
		o.MaxChars = maxSummary // the comment can be shorter
	}
	var b bytes.Buffer
	if err := Write(&b, f.Format, r, o); err != nil {
		return err
	}
	if f.Format != outputs {
		return files.Replace(f.Name, b.Bytes())
	}
	name := cmp.Or(f.Name, getenv(outputsFile))
	if name == "" {
		return fmt.Errorf("--out %s: write %s=FILE; $%s is not set", outputs, outputs, outputsFile)
	}
	return files.Append(name, b.Bytes())
}

// Files is the value of a flag that may be repeated.
type Files []File

// String returns the value as it was set.
func (list *Files) String() string {
	var texts []string
	for _, f := range *list {
		texts = append(texts, f.Format+"="+f.Name)
	}
	return strings.Join(texts, " ")
}

// Type returns how the value is shown in the usage text.
func (list *Files) Type() string { return "FORMAT=FILE" }

// Set takes one more: FORMAT=FILE, or a format that knows its file.
func (list *Files) Set(text string) error {
	format, name, _ := strings.Cut(text, "=")
	switch formats := Formats(); {
	case !slices.Contains(formats, format):
		meant := eval.DidYouMean(format, formats)
		return fmt.Errorf("the format must be one of %s.%s", strings.Join(formats, ", "), meant)
	case name == "" && !KnowsFile(format):
		return fmt.Errorf("name a file: %s=FILE", format)
	}
	if name == "/dev/stdout" { // opened again, a file would be written twice from its beginning
		name = StandardOutput
	}
	*list = append(*list, File{format, name})
	return nil
}

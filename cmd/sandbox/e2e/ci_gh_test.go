package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/itchyny/gojq"
	"github.com/spf13/pflag"
)

// GH is the part of the program gh that the examples use: "gh api", answered from the
// forge in the file $FORGE. It returns the exit code.
func GH(args []string, out, messages io.Writer) int {
	if err := gh(args, out); err != nil {
		fmt.Fprintln(messages, "gh:", err)
		return 1
	}
	return 0
}

// call is one call of "gh api".
type call struct {
	method, path, jq string
	paginate, silent bool
	fields           map[string]any
}

func gh(args []string, out io.Writer) error {
	if os.Getenv("GH_TOKEN") == "" {
		return errors.New("set GH_TOKEN")
	}
	c, err := parseCall(args)
	if err != nil {
		return err
	}
	f, err := OpenForge(os.Getenv("FORGE"))
	if err != nil {
		return err
	}
	path, query, _ := strings.Cut(c.path, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return err
	}
	pages, err := f.answer(c.method, path, values, c.fields)
	if err != nil {
		return err
	}
	if !c.paginate {
		pages = pages[:1]
	}
	for _, page := range pages {
		if err := c.print(out, page); err != nil {
			return err
		}
	}
	return f.save()
}

func parseCall(args []string) (c call, err error) {
	if len(args) == 0 || args[0] != "api" {
		return c, fmt.Errorf("only api is known here, not %q", args)
	}
	flags := pflag.NewFlagSet("gh api", pflag.ContinueOnError)
	flags.Usage = func() {}
	flags.BoolVar(&c.paginate, "paginate", false, "")
	flags.BoolVar(&c.silent, "silent", false, "")
	flags.StringVar(&c.method, "method", "GET", "")
	flags.StringVar(&c.jq, "jq", "", "")
	pairs := flags.StringArray("field", nil, "")
	if err := flags.Parse(args[1:]); err != nil {
		return c, err
	}
	if flags.NArg() != 1 {
		return c, fmt.Errorf("want one path, not %q", flags.Args())
	}
	c.path, c.fields = flags.Arg(0), map[string]any{}
	for _, pair := range *pairs {
		key, value, _ := strings.Cut(pair, "=")
		if c.fields[key], err = field(value); err != nil {
			return c, err
		}
	}
	return c, nil
}

// field is the value of --field: what follows an @ is read from a file.
func field(value string) (any, error) {
	name, fromFile := strings.CutPrefix(value, "@")
	if !fromFile {
		return value, nil
	}
	text, err := os.ReadFile(name)
	return string(text), err
}

// print writes an answer, filtered by --jq, which is gojq as in gh.
func (c call) print(out io.Writer, answer any) error {
	if c.silent {
		return nil
	}
	text, err := json.Marshal(answer)
	if err != nil || c.jq == "" {
		fmt.Fprintf(out, "%s\n", text)
		return err
	}
	query, err := gojq.Parse(c.jq)
	if err != nil {
		return err
	}
	code, err := gojq.Compile(query, gojq.WithEnvironLoader(os.Environ))
	if err != nil {
		return err
	}
	var plain any
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&plain); err != nil {
		return err
	}
	results := code.Run(plain)
	for v, ok := results.Next(); ok; v, ok = results.Next() {
		if err, failed := v.(error); failed {
			return err
		}
		if number, ok := v.(float64); ok {
			fmt.Fprintf(out, "%.0f\n", number)
			continue
		}
		fmt.Fprintln(out, v)
	}
	return nil
}

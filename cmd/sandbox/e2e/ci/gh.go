package ci

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
	c.method, c.fields = "GET", map[string]any{}
	for rest := args[1:]; len(rest) > 0; rest = rest[1:] {
		flag := rest[0]
		switch flag {
		case "--paginate":
			c.paginate = true
			continue
		case "--silent":
			c.silent = true
			continue
		}
		if !strings.HasPrefix(flag, "-") {
			if c.path != "" {
				return c, fmt.Errorf("two paths: %q and %q", c.path, flag)
			}
			c.path = flag
			continue
		}
		if len(rest) == 1 {
			return c, fmt.Errorf("%s takes a value", flag)
		}
		rest = rest[1:]
		switch flag {
		case "--method":
			c.method = rest[0]
		case "--jq":
			c.jq = rest[0]
		case "--field":
			key, value, _ := strings.Cut(rest[0], "=")
			if c.fields[key], err = field(value); err != nil {
				return c, err
			}
		default:
			return c, fmt.Errorf("the flag %s is not known here", flag)
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
	if raw, ok := answer.([]byte); ok {
		_, err := out.Write(raw)
		return err
	}
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
		fmt.Fprintln(out, written(v))
	}
	return nil
}

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Forge is what GitHub stores of the repository of a test. It is kept in a file,
// because each call of gh is a separate process.
type Forge struct {
	ReadOnly bool            `json:"readOnly"` // the token is that of a fork's run
	Comments []Comment       `json:"comments"`
	Pulls    map[string]Pull `json:"pulls"` // by number
	// Opened are the pull requests that a workflow has opened, with what it has sent.
	Opened []map[string]any `json:"opened"`

	file string
}

// Comment is a comment on an issue or a pull request.
type Comment struct {
	ID    int    `json:"id"`
	Issue string `json:"issue"`
	User  User   `json:"user"`
	Body  string `json:"body"`
}

// User is the author of a comment.
type User struct {
	Login string `json:"login"`
}

// Pull is a pull request.
type Pull struct {
	Head struct {
		SHA string `json:"sha"`
	} `json:"head"`
	Labels []Label `json:"labels"`
}

// Label is a label of a pull request.
type Label struct {
	Name string `json:"name"`
}

// NewForge writes an empty forge to a file.
func NewForge(file string) (*Forge, error) {
	f := &Forge{file: file}
	return f, f.save()
}

// OpenForge reads a forge from its file.
func OpenForge(file string) (*Forge, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("open the forge: %w", err)
	}
	f := &Forge{file: file}
	return f, json.Unmarshal(text, f)
}

func (f *Forge) save() error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return os.WriteFile(f.file, text, 0o644)
}

// changeForge changes the forge in a file.
func changeForge(file string, change func(*Forge)) error {
	f, err := OpenForge(file)
	if err != nil {
		return err
	}
	change(f)
	return f.save()
}

// number is one in a path of the API: of an issue or a comment.
var number = regexp.MustCompile(`\b[0-9]+\b`)

// answer returns the pages of an answer.
func (f *Forge) answer(method, path string, query url.Values, fields map[string]any) ([]any, error) {
	if method != "GET" && f.ReadOnly {
		return nil, errors.New("Resource not accessible by integration (HTTP 403)")
	}
	rest := strings.TrimPrefix(path, "repos/acme/fleet/")
	id := number.FindString(rest)
	if id != "" {
		rest = strings.Replace(rest, id, "N", 1)
	}
	switch method + " " + rest {
	case "GET issues/N/comments":
		return f.comments(id, query.Get("per_page")), nil
	case "POST issues/N/comments":
		c := Comment{ID: 100 + len(f.Comments), Issue: id, User: User{"github-actions[bot]"}, Body: fmt.Sprint(fields["body"])}
		f.Comments = append(f.Comments, c)
		return []any{c}, nil
	case "PATCH issues/comments/N":
		for i := range f.Comments {
			if strconv.Itoa(f.Comments[i].ID) == id {
				f.Comments[i].Body = fmt.Sprint(fields["body"])
				return []any{f.Comments[i]}, nil
			}
		}
	case "GET pulls":
		return []any{f.Opened}, nil
	case "POST pulls":
		f.Opened = append(f.Opened, fields)
		return []any{fields}, nil
	case "GET pulls/N":
		if pull, ok := f.Pulls[id]; ok {
			return []any{pull}, nil
		}
	}
	return nil, fmt.Errorf("%s %s: Not Found (HTTP 404)", method, path)
}

// comments are the pages of an issue's comments; there is a first page even without
// comments.
func (f *Forge) comments(issue, perPage string) (pages []any) {
	size, err := strconv.Atoi(perPage)
	if err != nil {
		size = 30
	}
	all := slices.DeleteFunc(slices.Clone(f.Comments), func(c Comment) bool { return c.Issue != issue })
	for page := range slices.Chunk(all, size) {
		pages = append(pages, page)
	}
	return append(pages, []Comment{})
}

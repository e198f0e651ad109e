package ci

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
)

// Forge is what GitHub stores of the repositories of a test. It is kept in a file,
// because each call of gh is a process of its own.
type Forge struct {
	Me        string                `json:"me"` // whose the token is
	Comments  []Comment             `json:"comments"`
	Labels    map[string][]string   `json:"labels"`    // by number
	Pulls     map[string]Pull       `json:"pulls"`     // by number
	Artifacts map[string][]Artifact `json:"artifacts"` // by run
	Zips      map[string][]byte     `json:"zips"`      // by id of the artifact

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
	State string `json:"state"`
	Head  struct {
		SHA  string `json:"sha"`
		Repo struct {
			ID int `json:"id"`
		} `json:"repo"`
	} `json:"head"`
}

// Artifact is an artifact that a run has uploaded.
type Artifact struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
	Size int    `json:"size_in_bytes"`
}

// NewForge writes an empty forge to a file.
func NewForge(file string) (*Forge, error) {
	f := &Forge{Me: "github-actions[bot]", file: file}
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

// Change changes the forge in a file.
func Change(file string, change func(*Forge)) error {
	f, err := OpenForge(file)
	if err != nil {
		return err
	}
	change(f)
	return f.save()
}

var (
	commentsOf  = regexp.MustCompile(`^repos/acme/fleet/issues/([0-9]+)/comments$`)
	commentAt   = regexp.MustCompile(`^repos/acme/fleet/issues/comments/([0-9]+)$`)
	labelAt     = regexp.MustCompile(`^repos/acme/fleet/issues/([0-9]+)/labels/([^/]+)$`)
	pullAt      = regexp.MustCompile(`^repos/acme/fleet/pulls/([0-9]+)$`)
	artifactsOf = regexp.MustCompile(`^repos/acme/fleet/actions/runs/([0-9]+)/artifacts$`)
	zipAt       = regexp.MustCompile(`^repos/acme/fleet/actions/artifacts/([0-9]+)/zip$`)
)

// answer returns the pages of an answer: values for JSON, or bytes.
func (f *Forge) answer(method, path string, query url.Values, fields map[string]any) ([]any, error) {
	if m := commentsOf.FindStringSubmatch(path); m != nil && method == "GET" {
		return f.comments(m[1], query.Get("per_page")), nil
	} else if m != nil && method == "POST" {
		c := Comment{ID: 100 + len(f.Comments), Issue: m[1], User: User{f.Me}, Body: fmt.Sprint(fields["body"])}
		f.Comments = append(f.Comments, c)
		return []any{c}, nil
	}
	if m := commentAt.FindStringSubmatch(path); m != nil && method == "PATCH" {
		for i := range f.Comments {
			if strconv.Itoa(f.Comments[i].ID) == m[1] {
				f.Comments[i].Body = fmt.Sprint(fields["body"])
				return []any{f.Comments[i]}, nil
			}
		}
	}
	if m := labelAt.FindStringSubmatch(path); m != nil && method == "DELETE" {
		name, err := url.PathUnescape(m[2])
		if i := slices.Index(f.Labels[m[1]], name); err == nil && i >= 0 {
			f.Labels[m[1]] = slices.Delete(f.Labels[m[1]], i, i+1)
			return []any{f.Labels[m[1]]}, nil
		}
	}
	if m := pullAt.FindStringSubmatch(path); m != nil && method == "GET" {
		if pull, ok := f.Pulls[m[1]]; ok {
			return []any{pull}, nil
		}
	}
	if m := artifactsOf.FindStringSubmatch(path); m != nil && method == "GET" {
		return []any{map[string]any{"artifacts": append([]Artifact{}, f.Artifacts[m[1]]...)}}, nil
	}
	if m := zipAt.FindStringSubmatch(path); m != nil && method == "GET" {
		if zip, ok := f.Zips[m[1]]; ok {
			return []any{zip}, nil
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
	page := []Comment{}
	for _, c := range f.Comments {
		if c.Issue != issue {
			continue
		}
		if len(page) == size {
			pages, page = append(pages, page), []Comment{}
		}
		page = append(page, c)
	}
	return append(pages, page)
}

package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed theme
var theme embed.FS

// page is what the template shows.
type page struct {
	Title   string
	Up      string // from the page to the root of the site
	Name    string // of the page, from the root
	Groups  []navigation
	Content template.HTML
}

type navigation struct {
	Title string
	Open  bool
	Links []entry
}

type entry struct {
	Title, Page string
	Current     bool
}

// found is a page in the search index.
type found struct {
	Title    string   `json:"title"`
	Page     string   `json:"page"`
	Headings []string `json:"headings"`
	Keywords []string `json:"keywords"`
	Text     string   `json:"text"`
}

// write renders the site into a directory.
func (s *site) write(dir string) error {
	layout, err := template.ParseFS(theme, "theme/page.html")
	if err != nil {
		return err
	}
	for name := range keywords {
		if _, ok := s.documents[name]; !ok {
			return fmt.Errorf("keywords: document %s does not exist", name)
		}
	}
	var index []found
	var linked []string
	for _, name := range slices.Sorted(maps.Keys(s.documents)) {
		r, err := s.render(name)
		if err != nil {
			return err
		}
		index = append(index, found{title(s.documents[name]), pageOf(name), r.headings, keywords[name], r.text})
		linked = append(linked, r.linked...)
		if err := s.show(dir, layout, name, title(s.documents[name]), template.HTML(r.html)); err != nil {
			return err
		}
	}
	slices.Sort(linked)
	for _, name := range slices.Compact(linked) {
		if err := s.copyFile(dir, layout, name); err != nil {
			return err
		}
	}
	data, err := json.Marshal(index)
	if err != nil {
		return err
	}
	if err := put(dir, "search-index.js", append([]byte("const pages = "), data...)); err != nil {
		return err
	}
	for _, name := range []string{"style.css", "search.js"} {
		text, err := theme.ReadFile("theme/" + name)
		if err != nil {
			return err
		}
		if err := put(dir, name, text); err != nil {
			return err
		}
	}
	return nil
}

// show writes a page with the navigation around it.
func (s *site) show(dir string, layout *template.Template, name, title string, content template.HTML) error {
	p := page{Title: title, Name: pageOf(name), Content: content}
	p.Up = strings.Repeat("../", strings.Count(p.Name, "/"))
	for _, g := range s.groups {
		n := navigation{Title: g.Title}
		for _, document := range g.Pages {
			e := entry{Page: p.Up + pageOf(document), Current: document == name}
			e.Title = titleOf(document, s.documents[document])
			n.Open = n.Open || e.Current || below(name, document) || name == "README.md" && g.Title == "Guides"
			n.Links = append(n.Links, e)
		}
		p.Groups = append(p.Groups, n)
	}
	var b strings.Builder
	if err := layout.Execute(&b, p); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return put(dir, p.Name, []byte(b.String()))
}

// below reports whether a page belongs to a document: a rule, or a file of an example.
func below(name, document string) bool {
	dir, isREADME := strings.CutSuffix(document, "/README.md")
	return isREADME && strings.HasPrefix(name, dir+"/")
}

// titleOf is the title of a document in the navigation.
func titleOf(name, text string) string {
	if name == "README.md" {
		return "lkeplan"
	}
	return title(text)
}

// copyOf is the path on the site of a file or directory that is not a document: pictures are copied, other
// files and directories become a page.
func (s *site) copyOf(name string) string {
	switch {
	case path.Ext(name) == ".svg", path.Ext(name) == ".png":
		return name
	case slices.Contains(s.tracked, name):
		return name + ".html"
	}
	return name + "/index.html"
}

// copyFile writes a file or the list of a directory to the site.
func (s *site) copyFile(dir string, layout *template.Template, name string) error {
	to := s.copyOf(name)
	if to == name+"/index.html" {
		return s.show(dir, layout, name+"/README.md", name, s.listing(name))
	}
	text, err := os.ReadFile(filepath.Join(s.repository, name))
	if err != nil {
		return err
	}
	if to == name {
		return put(dir, to, text)
	}
	content := "<h1>" + template.HTMLEscapeString(name) + "</h1><pre><code>" + template.HTMLEscapeString(string(text)) +
		"</code></pre>"
	return s.show(dir, layout, name+".md", name, template.HTML(content))
}

// listing lists the files of a directory, with links to files that have a page.
func (s *site) listing(name string) template.HTML {
	var b strings.Builder
	b.WriteString("<h1>" + template.HTMLEscapeString(name) + "</h1><ul>")
	for _, file := range s.tracked {
		inside, ok := strings.CutPrefix(file, name+"/")
		if !ok {
			continue
		}
		text := template.HTMLEscapeString(inside)
		if _, document := s.documents[file]; document {
			text = fmt.Sprintf(`<a href="%s">%s</a>`, strings.TrimPrefix(pageOf(file), name+"/"), text)
		}
		b.WriteString("<li>" + text + "</li>")
	}
	return template.HTML(b.String() + "</ul>")
}

// put writes a file and creates its directories.
func put(dir, name string, text []byte) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

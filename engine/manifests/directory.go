package manifests

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// maxFiles bounds the files of a directory.
const maxFiles = 5000

// A Directory is a directory whose files are read, with its subdirectories.
type Directory struct {
	FS    fs.FS
	Root  string   // in FS
	Shown string   // replaces Root in the names of files; "" for Root
	Kinds []string // wanted kinds; Missing names files that may have objects of them
	Links bool     // links to files are followed
}

// Found is the result of reading a directory.
type Found struct {
	Objects []Object
	left    []left
}

// left is a file, or a document of a file, that was ignored.
type left struct {
	place   string
	why     string // "" if it is not a Kubernetes object
	matters bool   // it may have objects of a wanted kind
}

// Read reads the files that end in .yaml, .yml and .json. It ignores documents that are not objects.
func (d Directory) Read() (found Found, err error) {
	w := walk{Directory: d, wanted: wantedKinds(d.Kinds)}
	err = fs.WalkDir(d.FS, d.Root, w.visit)
	return w.found, err
}

type walk struct {
	Directory
	wanted *regexp.Regexp
	files  int
	found  Found
}

// wantedKinds matches the text of a possible object of one of the kinds, or of a kind that a template fills in.
func wantedKinds(kinds []string) *regexp.Regexp {
	return regexp.MustCompile(`\bkind["']?\s*:\s*["']?(?:\{\{|(?:` + strings.Join(kinds, "|") + `)(?:List)?\b)`)
}

// hidden matches text that cannot be parsed and may have a kind that is not written in the usual way.
var hidden = regexp.MustCompile(`(?i)kind|\\[ux]`)

// mayHold reports whether text that cannot be parsed may have an object of a wanted kind. In UTF-16 and UTF-32,
// zeros are between the letters.
func mayHold(text []byte) bool { return hidden.Match(bytes.ReplaceAll(text, []byte{0}, nil)) }

func (w *walk) leave(place, why string, matters bool) {
	w.found.left = append(w.found.left, left{place, why, matters})
}

func (w *walk) visit(name string, entry fs.DirEntry, err error) error {
	shown := name
	if w.Shown != "" {
		below, _ := filepath.Rel(w.Root, name)
		shown = filepath.Join(w.Shown, below)
	}
	below := name != w.Root
	switch {
	case err != nil && !below:
		return err
	case err != nil:
		w.leave(shown, files.Cause(err).Error(), true)
		return nil
	case entry.IsDir() && below && strings.HasPrefix(path.Base(name), "."):
		return fs.SkipDir
	case entry.IsDir():
		return nil
	case path.Base(name) == "Kustomization":
	case !slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(path.Ext(name))):
		if info, err := fs.Stat(w.FS, name); entry.Type()&fs.ModeSymlink != 0 && err == nil && info.IsDir() {
			w.leave(shown, "links to directories are not followed", true)
		}
		return nil
	}
	w.files++
	if w.files > maxFiles {
		return fmt.Errorf("more than %d files; name subdirectories of it", maxFiles)
	}
	if entry.Type()&fs.ModeSymlink != 0 && !w.Links {
		w.leave(shown, "links are not followed", true)
		return nil
	}
	w.read(name, shown)
	return nil
}

// read reads a file.
func (w *walk) read(name, shown string) {
	if info, err := fs.Stat(w.FS, name); err == nil && !info.Mode().IsRegular() {
		w.leave(shown, "it is not a regular file", false) // opening a pipe would block until another process writes to it
		return
	}
	file, err := w.FS.Open(name)
	if err != nil {
		w.leave(shown, files.Cause(err).Error(), true)
		return
	}
	defer file.Close()
	raw, problem := readBounded(file)
	if problem == nil {
		problem = eachDocument(raw, func(n int, text []byte, found []map[string]any, problem error) error {
			w.document(Object{File: shown, Document: n, Listed: true}, text, found, problem)
			return nil
		})
	}
	if problem != nil {
		w.leave(shown, files.Cause(problem).Error(), mayHold(raw))
	}
}

// document adds the objects of a document, or notes why it has none.
func (w *walk) document(at Object, text []byte, found []map[string]any, problem error) {
	base := path.Base(filepath.ToSlash(at.File))
	switch matters := w.wanted.Match(text); {
	case strings.ToLower(strings.TrimSuffix(base, path.Ext(base))) == "kustomization" && !errors.Is(problem, errTemplate):
		if what := w.changes(at.File, text); what != "" {
			w.leave(at.File, fmt.Sprintf("it has %s; use the output of kustomize build", what), true)
		} else {
			w.leave(at.File, "use the output of kustomize build", false)
		}
	case problem == nil:
		for _, fields := range found {
			if strings.HasPrefix(manifest.APIVersion(fields), "kustomize.config.k8s.io/") {
				w.leave(at.Place(), "use the output of kustomize build", false)
				continue
			}
			at.Fields = fields
			w.found.Objects = append(w.found.Objects, at)
		}
	case errors.Is(problem, errNoObject) && !matters:
		w.leave(at.File, "", false)
	case errors.Is(problem, errTemplate):
		w.leave(at.File, errTemplate.Error(), matters)
	case errors.Is(problem, errNoObject):
		w.leave(at.File, problem.Error(), matters)
	default:
		w.leave(at.File, problem.Error(), mayHold(text))
	}
}

// changes returns what in a kustomization changes objects or adds objects from elsewhere; "" if nothing does.
func (w *walk) changes(file string, text []byte) string {
	var k struct {
		Resources []string `json:"resources"`
	}
	fields := map[string]any{}
	raw, err := toJSON(text)
	if err != nil || json.Unmarshal(raw, &k) != nil || json.Unmarshal(raw, &fields) != nil {
		return "unreadable content"
	}
	for _, name := range []string{"patches", "patchesStrategicMerge", "patchesJson6902", "replicas", "replacements", "components",
		"bases", "helmCharts", "helmChartInflationGenerator", "generators", "transformers"} {
		if _, there := fields[name]; there {
			return name
		}
	}
	for _, resource := range k.Resources {
		below, err := filepath.Rel(cmp.Or(w.Shown, w.Root), filepath.Join(filepath.Dir(file), filepath.FromSlash(resource)))
		if err != nil || strings.HasPrefix(below, "..") || strings.Contains(resource, "://") || strings.HasPrefix(resource, "github.com/") {
			return "remote resources"
		}
	}
	return ""
}

// Notes returns what was ignored, with the reasons, and which objects of the wanted kinds may be missing.
func (f Found) Notes() (notes, missing []string) {
	type key struct {
		why     string
		matters bool
	}
	var keys []key
	places := map[key][]string{}
	for _, l := range f.left {
		k := key{l.why, l.matters}
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
		if !slices.Contains(places[k], l.place) {
			places[k] = append(places[k], l.place)
		}
	}
	for _, k := range keys {
		switch all := joinFirst(places[k]); {
		case k.matters:
			missing = append(missing, fmt.Sprintf("%s: %s", all, k.why))
		case k.why == "":
			notes = append(notes, "Skipped files without Kubernetes objects: "+all+".")
		default:
			notes = append(notes, fmt.Sprintf("Skipped %s: %s.", all, k.why))
		}
	}
	return notes, missing
}

// joinFirst lists the first names, and the number of the others.
func joinFirst(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

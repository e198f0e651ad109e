package configtest

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"testing/fstest"
	"text/template"

	"github.com/rogpeppe/go-internal/txtar"
)

// A Hostile is a small directory that would cost HCL, or code that uses it, hours or all memory.
type Hostile struct {
	Name  string
	Files map[string]string // in addition to a cluster block

	Want  string // a part of one of the errors, summary and detail
	Valid bool   // it compiles without errors
}

// Cluster is the cluster block of each directory.
const Cluster = `cluster {
  name   = "test"
  region = "us-ord"
}
`

// FS returns the directory with a cluster block.
func (h Hostile) FS() fstest.MapFS {
	files := fstest.MapFS{"cluster.lke.hcl": {Data: []byte(Cluster)}}
	for name, text := range h.Files {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

//go:embed testdata/hostile
var hostile embed.FS

// Hostiles returns the directories in testdata/hostile. Each file there is an archive of directories.
// The name of a section is that of a directory and, after a colon, that of a file in it other than
// main.lke.hcl. A section does not include its last line end. A file whose name contains # exists
// for each number of a range. The text between « and » is a template that writes
//
//	«valid»             nothing: the directory compiles without errors
//	«want "text"»       nothing: one of the errors contains this text
//	«repeat 9 "text"»   the text nine times
//	«each 9 "a# = 1"»   the same, with a number from 0 for #, the next for #+, and # for ##
//	«fill "text"»       the text until a file is full
//	«pair "[" "]"»      the same, with the same number of ] after all [
//	«nest 9 "text"»     nested templates, each of which contains the next one twice
//	«colliding 9»       strings with the same hash
func Hostiles() (all []Hostile) {
	for _, group := range []string{"nested", "scanned", "numbers", "multiplied", "looped", "matched", "repeated", "json",
		"reported", "modules"} {
		text, err := fs.ReadFile(hostile, "testdata/hostile/"+group+".txt")
		if err != nil {
			panic(err) // embedded files can be read
		}
		for _, file := range txtar.Parse(text).Files {
			name, path, _ := strings.Cut(file.Name, ": ")
			if len(all) == 0 || all[len(all)-1].Name != name {
				all = append(all, Hostile{Name: name, Files: map[string]string{}})
			}
			all[len(all)-1].write(path, strings.TrimSuffix(string(file.Data), "\n"))
		}
	}
	return all
}

// write writes a file, or the files of a range of numbers.
func (h *Hostile) write(path, text string) {
	var out strings.Builder
	t := template.New(h.Name).Delims("«", "»").Funcs(template.FuncMap{
		"valid":     func() string { h.Valid = true; return "" },
		"want":      func(text string) string { h.Want = text; return "" },
		"repeat":    func(n int, text string) string { return strings.Repeat(text, n) },
		"fill":      func(text string) string { return strings.Repeat(text, room/len(text)) },
		"pair":      pair,
		"each":      each,
		"nest":      nest,
		"colliding": colliding,
	})
	if err := template.Must(t.Parse(text)).Execute(&out, nil); err != nil {
		panic(err)
	}
	path, numbers, ranged := strings.Cut(path, ", ")
	if !ranged {
		h.Files[cmp.Or(path, "main.lke.hcl")] = out.String()
		return
	}
	var first, last int
	if _, err := fmt.Sscanf(numbers, "%d to %d", &first, &last); err != nil {
		panic(err)
	}
	for n := first; n <= last; n++ {
		h.Files[number(n, path)] = number(n, out.String())
	}
}

const room = 250 << 10 // below the size limit of a file

func pair(open, shut string) string {
	n := room / (len(open) + len(shut))
	return strings.Repeat(open, n) + strings.Repeat(shut, n)
}

func each(n int, text string) string {
	var all strings.Builder
	for i := range n {
		all.WriteString(number(i, text))
	}
	return all.String()
}

func number(n int, text string) string {
	const mark = "\x00" // a literal #
	text = strings.ReplaceAll(strings.ReplaceAll(text, "##", mark), "#+", strconv.Itoa(n+1))
	return strings.ReplaceAll(strings.ReplaceAll(text, "#", strconv.Itoa(n)), mark, "#")
}

func nest(depth int, inner string) string {
	text := `"` + inner + `"`
	for range depth {
		text = `"${` + text + `}${` + text + `}"`
	}
	return text
}

// colliding writes strings with the same CRC, as a list without brackets. The CRC is linear: if
// single changes of a text do not change it, neither do combinations of them.
func colliding(n int) string {
	const plain = "aaaaaaaaaaaaaaaa"
	changed := []string{"gkokkkocigcaaaaa", "kokikkcaciiaaaaa", "gmeeaaemkoecaaaa", "keeccaicckaiaaaa", "mcigeamggeeecaaa",
		"cemeeaeaacaeeaaa", "moagccmkimaaiaaa", "ciomceemgeeaacaa", "emgckokgieaeaeaa", "kceimiamiaeaaiaa",
		"aciomceemgeeaaca", "caacgkkkgkeeaaea", "akceimiamiaeaaia", "eoagagigmieaaaac"}
	var all strings.Builder
	for i := range n {
		text := []byte(plain)
		for k, other := range changed {
			for at := range text {
				if i>>k&1 == 1 {
					text[at] ^= other[at] ^ plain[at]
				}
			}
		}
		fmt.Fprintf(&all, "%q,", text)
	}
	return all.String()
}

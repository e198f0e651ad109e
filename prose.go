//go:build ignore

// Command prose writes what people read of the Go files in the repository to a directory, for a
// checker of words: comments, strings with a space in them, and the names of tests as words. Each
// file keeps its name, with .txt at the end, and each text keeps its line. It leaves out what
// looks like code: flags, paths, fields, and what is between backquotes.
package main

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: go run prose.go DIRECTORY")
	}
	listed, err := exec.Command("git", "ls-files", "-z", "--", "*.go", ":!*/testdata/*", ":!*/zz_generated*").Output()
	if err != nil {
		log.Fatalf("list Go files: %v", err)
	}
	if err := os.RemoveAll(flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		if err := write(name, filepath.Join(flag.Arg(0), name+".txt")); err != nil {
			log.Fatal(err)
		}
	}
}

func write(name, to string) error {
	src, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil // deleted, and not yet committed
	} else if err != nil {
		return err
	}
	lines, err := prose(name, src)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	return os.WriteFile(to, []byte(strings.Join(lines, "\n")+"\n"), 0o666)
}

// prose returns the texts of each line of a file.
func prose(name string, src []byte) ([]string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	lines := make([]string, bytes.Count(src, []byte("\n"))+1)
	add := func(pos token.Pos, text string) {
		first := fset.Position(pos).Line - 1
		for i, line := range strings.Split(code.ReplaceAllString(text, " "), "\n") {
			lines[min(first+i, len(lines)-1)] += line + " "
		}
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:") {
				continue
			}
			add(c.Pos(), strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(c.Text, "//"), "/*"), "*/"))
		}
	}
	test := strings.HasSuffix(name, "_test.go")
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.FuncDecl:
			if rest, ok := strings.CutPrefix(n.Name.Name, "Test"); ok && test {
				add(n.Name.Pos(), hump.ReplaceAllString(rest, "$1 $2")+".")
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && strings.Contains(text, " ") {
				if n.Value[0] == '"' { // its line breaks are on one line of the file
					text = strings.ReplaceAll(text, "\n", " ")
				}
				add(n.Pos(), text)
			}
		}
		return true
	})
	return lines, nil
}

var (
	code = regexp.MustCompile("`[^`\n]*`|--?[a-z][-a-z]*|[^\\s\"(]*[/_=<>{}][^\\s\")]*")
	hump = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

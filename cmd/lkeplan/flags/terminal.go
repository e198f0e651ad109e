package flags

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/lkeplan/lkeplan/config/diag"
)

// Terminal returns the terminal behind a stream; nil if the stream is not a terminal.
func Terminal(stream any) *os.File {
	if w, ok := stream.(io.Writer); ok {
		stream = diag.Plain(w)
	}
	if recorder, ok := stream.(*diag.Recorder); ok {
		stream = recorder.To
	}
	if f, ok := stream.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// Colored reports whether a stream is a terminal that displays colors, and the user has
// not turned them off (no-color.org).
func Colored(stream any, getenv func(string) string) bool {
	return Terminal(stream) != nil && getenv("NO_COLOR") == "" && !Dumb(getenv)
}

// Dumb reports whether the terminal cannot move its cursor.
func Dumb(getenv func(string) string) bool { return getenv("TERM") == "dumb" }

// Columns returns the variable COLUMNS, or else the width of the terminal; 0 if neither is known.
func Columns(stream any, getenv func(string) string) int {
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	f := Terminal(stream)
	if f == nil {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// Lines returns the height of a terminal; 0 if it is not known.
func Lines(terminal *os.File) int {
	_, height, err := term.GetSize(int(terminal.Fd()))
	if err != nil {
		return 0
	}
	return height
}

// Unicode reports whether the locale can display more than ASCII. It is assumed
// that it can if no locale is set, as in many containers.
func Unicode(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(name)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return true
}

// Confirm asks a question on the terminal, and reports whether the answer is "yes".
func Confirm(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	fmt.Fprintf(out, "\n%s\nType \"yes\" to continue: ", question)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n') // an end of the input is not "yes"
		answer <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(out)
		return false, ctx.Err()
	case line := <-answer:
		fmt.Fprintln(out)
		return strings.TrimSpace(line) == "yes", nil
	}
}

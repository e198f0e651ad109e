package e2e

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/engine/report/picture"
)

var update = flag.Bool("update", false, "rewrite what tests compare: kube/deploy, the recording of a burst")

const recordingFile = "../../../examples/pictures/burst.svg"

// recording is what is seen of a burst while it happens, as lines on a terminal.
type recording struct {
	began time.Time
	lines []picture.Line
	last  string
}

// begin shows a command and what it printed.
func (r *recording) begin(command, printed string) {
	r.began = time.Now()
	r.lines = append(r.lines, picture.Line{Text: "\x1b[32m$\x1b[0m \x1b[1m" + command + "\x1b[0m"})
	for line := range strings.Lines(printed) {
		r.lines = append(r.lines, picture.Line{Text: strings.TrimSuffix(line, "\n")})
	}
	r.lines = append(r.lines, picture.Line{})
}

// see adds a line where there is more than in the line before.
func (r *recording) see(s state) {
	seen := fmt.Sprintf("%3d NodeClaims  %3d Linodes  %3d nodes  %3d of 100 pods run",
		len(s.claims), s.linode.Made, len(s.nodes), s.running)
	if seen == r.last {
		return
	}
	r.last = seen
	at := time.Since(r.began)
	r.lines = append(r.lines, picture.Line{Text: fmt.Sprintf("\x1b[2m%5.1fs\x1b[0m %s", at.Seconds(), seen), At: at})
}

// end adds what the burst took of the Linode API.
func (r *recording) end(s state) {
	at := time.Since(r.began)
	for _, text := range []string{"", fmt.Sprintf(
		"\x1b[1m%d pods, %d nodes, %d calls of the Linode API, %d of which changed something\x1b[0m",
		s.running, len(s.nodes), s.linode.Calls, s.linode.Writes)} {
		r.lines = append(r.lines, picture.Line{Text: text, At: at})
	}
}

// callsShown finds in the picture how many calls it says that a burst takes.
var callsShown = regexp.MustCompile(`100 pods, 25 nodes, (\d+) calls`)

// check holds the picture to what was recorded: the same pods and nodes, and a
// number of calls that differs by no more than polling does, once a second while the
// burst took. With -update it is drawn anew.
func (r *recording) check(t *testing.T, calls int, took time.Duration) {
	t.Helper()
	if *update {
		drawn := picture.SVG("a burst in the sandbox", r.lines)
		if err := os.WriteFile(recordingFile, drawn, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(recordingFile)
	if err != nil {
		t.Fatal(err)
	}
	shown := callsShown.FindSubmatch(raw)
	if shown == nil {
		t.Fatalf("%s does not show 100 pods and 25 nodes; run this test with -update", recordingFile)
	}
	polls := 8 + int(took.Seconds())
	if n, err := strconv.Atoi(string(shown[1])); err != nil || n > calls+polls || calls > n+polls {
		t.Errorf("%s says %s calls, and it took %d; run this test with -update", recordingFile, shown[1], calls)
	}
}

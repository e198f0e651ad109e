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
)

var update = flag.Bool("update", false, "rewrite what tests compare: kube/deploy, the recording of a burst")

// recordingFile is what a test of cmd/lkeplan draws the picture in the README from.
const recordingFile = "../../lkeplan/testdata/picture/burst.txt"

// recording is the progress of a burst as a text on a terminal.
type recording struct {
	started time.Time
	text    string
	last    string
}

// start shows a command and its output.
func (r *recording) start(command, output string) {
	r.started = time.Now()
	r.text = fmt.Sprintf("\x1b[32m$\x1b[0m \x1b[1m%s\x1b[0m\n%s\n\n", command, strings.TrimSuffix(output, "\n"))
}

// add writes a line if the counts differ from those of the previous line.
func (r *recording) add(s state) {
	seen := fmt.Sprintf("%3d NodeClaims  %3d Linodes  %3d nodes  %3d of 100 pods run",
		len(s.claims), s.linode.Made, len(s.nodes), s.running)
	if seen == r.last {
		return
	}
	r.last = seen
	r.text += fmt.Sprintf("\x1b[2m%5.1fs\x1b[0m %s\n", time.Since(r.started).Seconds(), seen)
}

// end adds how many calls to the Linode API the burst took.
func (r *recording) end(s state) {
	r.text += fmt.Sprintf("\n\x1b[1m%d pods, %d nodes, %d calls to the Linode API, %d of which changed something\x1b[0m\n",
		s.running, len(s.nodes), s.linode.Calls, s.linode.Writes)
}

// callsShown finds the number of calls in the recording.
var callsShown = regexp.MustCompile(`100 pods, 25 nodes, (\d+) calls`)

// check compares the recorded burst with this one: the same pods and nodes, and a number of calls that
// differs only by polling, which happens once a second. With -update it records the burst again; then go test
// ./cmd/lkeplan -run TestPictureOfBurst -update draws it.
func (r *recording) check(t *testing.T, calls int, took time.Duration) {
	t.Helper()
	if *update {
		if err := os.WriteFile(recordingFile, []byte(r.text), 0o644); err != nil {
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

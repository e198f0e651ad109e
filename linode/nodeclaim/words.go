package nodeclaim

import (
	"strconv"
	"strings"
)

// MostSaid is the maximum length of a message in bytes. The API server refuses events with more than 1,024.
const MostSaid = 1000

// Shorten cuts a message to the length that an event allows.
func Shorten(message string) string {
	if len(message) <= MostSaid {
		return message
	}
	const end = " ..."
	return strings.ToValidUTF8(message[:MostSaid-len(end)], "") + end
}

// Quoted quotes foreign text for a message, in at most that many bytes including the quotes. The result is
// one line; control characters and quotes are escaped as in Go.
func Quoted(text string, most int) string {
	const end = "..."
	kept := strings.Join(strings.Fields(strings.ToValidUTF8(text[:min(len(text), most)], "?")), " ")
	cut := len(text) > most
	quoted := strconv.Quote(kept)
	for len(quoted) > most || cut && len(quoted)+len(end) > most {
		cut = true
		kept = strings.ToValidUTF8(kept[:len(kept)*(most-len(end))/(len(quoted)+1)], "")
		quoted = strconv.Quote(kept)
	}
	if cut {
		return strconv.Quote(kept + end)
	}
	return quoted
}

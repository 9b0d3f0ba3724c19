// porcupine-check runs Porcupine over one history and says what it cost.
//
//	porcupine-check MODEL FILE LIMIT_S LIMIT_MIB
//
// MODEL is register or queue. FILE holds little-endian rows of 32 bytes: key, kind, a, b (int32
// each), call, return (int64 each); kinds are numbered as in checkers/linearizability/coded.py,
// the greatest return means that there was none. Prints one line of JSON: verdict (ok, illegal,
// unknown: time, or memory), seconds of the check alone, by the clock and of the processor (all
// cores, its collection of garbage too), peak resident memory in bytes.
//
// Porcupine stops at the first key that has no order. Ours says which keys have none, so that one
// stops nothing: where there are many, Porcupine is asked for every key once more, and these are
// the seconds; first_seconds and first_cpu_seconds are those until it stopped.
package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	kindRead    = 0
	kindDiffers = 1
	kindWrite   = 2
	kindCas     = 3
	kindEnqueue = 7
	kindDequeue = 8
	kindEmpty   = 9
	kindTake    = 10
	rowBytes    = 32
	pollEvery   = 50 * time.Millisecond
)

type input struct {
	key, kind, a, b int32
	pending         bool
}

func main() {
	if len(os.Args) != 5 {
		fail("usage: porcupine-check register|queue FILE LIMIT_S LIMIT_MIB")
	}
	seconds, err := strconv.ParseFloat(os.Args[3], 64)
	check(err)
	mebibytes, err := strconv.ParseInt(os.Args[4], 10, 64)
	check(err)
	data, err := os.ReadFile(os.Args[2])
	check(err)
	history := operations(data)
	model := registers()
	if os.Args[1] == "queue" {
		model = queues()
	}
	began := now()
	go watch(mebibytes<<20, began)
	limit := time.Duration(seconds * float64(time.Second))
	result := porcupine.CheckOperationsTimeout(model, history, limit)
	found := since(began)
	first := found
	if keys := byKey(history); string(result) == "Illegal" && len(keys) > 1 {
		again := now()
		if everyKey(model, keys, limit) {
			found = since(again)
		}
	}
	report(strings.ToLower(string(result)), found, first)
}

// everyKey has all keys judged at once, as Porcupine does it; whether all were in time.
func everyKey(model porcupine.Model, keys [][]porcupine.Operation, limit time.Duration) bool {
	judged := make(chan bool, len(keys))
	for _, key := range keys {
		go func(key []porcupine.Operation) {
			judged <- string(porcupine.CheckOperationsTimeout(model, key, limit)) != "Unknown"
		}(key)
	}
	all := true
	for range keys {
		all = <-judged && all
	}
	return all
}

func operations(data []byte) []porcupine.Operation {
	history := make([]porcupine.Operation, 0, len(data)/rowBytes)
	for at := 0; at+rowBytes <= len(data); at += rowBytes {
		row := data[at : at+rowBytes]
		number := func(from int) int32 { return int32(binary.LittleEndian.Uint32(row[from:])) }
		instant := func(from int) int64 { return int64(binary.LittleEndian.Uint64(row[from:])) }
		returned := instant(24)
		said := input{number(0), number(4), number(8), number(12), returned == math.MaxInt64}
		history = append(history, porcupine.Operation{
			Input: said, Output: nil, Call: instant(16), Return: returned,
		})
	}
	return history
}

func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	keys := make(map[int32]int)
	var parts [][]porcupine.Operation
	for _, operation := range history {
		key := operation.Input.(input).key
		part, known := keys[key]
		if !known {
			part = len(parts)
			keys[key] = part
			parts = append(parts, nil)
		}
		parts[part] = append(parts[part], operation)
	}
	return parts
}

// What a pending operation returned nobody knows: a pending cas may have failed.
func registers() porcupine.Model {
	model := porcupine.Model{
		Partition: byKey,
		Init:      func() interface{} { return int32(0) },
		Step: func(state, in, _ interface{}) (bool, interface{}) {
			now, said := state.(int32), in.(input)
			switch said.kind {
			case kindRead:
				return now == said.a || said.pending, state
			case kindDiffers:
				return now != said.a || said.pending, state
			case kindWrite:
				return true, said.b
			case kindCas:
				if now == said.a {
					return true, said.b
				}
				return said.pending, state
			}
			panic(fmt.Sprintf("kind %d in a register", said.kind))
		},
	}
	withHash(&model, func(state interface{}) uint64 { return spread(uint64(state.(int32))) })
	return model
}

// The content is a string, four bytes a value: immutable, and compared quickly.
func queues() porcupine.Model {
	model := porcupine.Model{
		Partition: byKey,
		Init:      func() interface{} { return "" },
		Step: func(state, in, _ interface{}) (bool, interface{}) {
			content, said := state.(string), in.(input)
			switch said.kind {
			case kindEnqueue:
				var value [4]byte
				binary.LittleEndian.PutUint32(value[:], uint32(said.b))
				return true, content + string(value[:])
			case kindDequeue:
				if content == "" || int32(binary.LittleEndian.Uint32([]byte(content[:4]))) != said.a {
					return false, state
				}
				return true, content[4:]
			case kindEmpty:
				return content == "", state
			case kindTake:
				if content == "" {
					return true, state
				}
				return true, content[4:]
			}
			panic(fmt.Sprintf("kind %d in a queue", said.kind))
		},
	}
	withHash(&model, func(state interface{}) uint64 {
		sum := uint64(14695981039346656037)
		for _, each := range []byte(state.(string)) {
			sum = (sum ^ uint64(each)) * 1099511628211
		}
		return sum
	})
	return model
}

// Newer versions of Porcupine put states into their hash; older ones have no such field.
func withHash(model *porcupine.Model, hash func(interface{}) uint64) {
	field := reflect.ValueOf(model).Elem().FieldByName("Hash")
	if field.IsValid() {
		field.Set(reflect.ValueOf(hash))
	}
}

func spread(number uint64) uint64 {
	number = (number ^ (number >> 31)) * 0x9e3779b97f4a7c15
	return number ^ (number >> 29)
}

// watch ends the process when it grows beyond its limit: no verdict.
func watch(limit int64, began moment) {
	for {
		time.Sleep(pollEvery)
		if peak() > limit {
			found := since(began)
			report("memory", found, found)
			os.Exit(0)
		}
	}
}

func report(verdict string, found, first spent) {
	fmt.Printf("{\"verdict\": %q, \"seconds\": %.9f, \"cpu_seconds\": %.9f, "+
		"\"first_seconds\": %.9f, \"first_cpu_seconds\": %.9f, \"peak_bytes\": %d}\n",
		verdict, found.clock.Seconds(), found.cpu.Seconds(),
		first.clock.Seconds(), first.cpu.Seconds(), peak())
}

type moment struct {
	clock time.Time
	cpu   time.Duration
}

type spent struct {
	clock, cpu time.Duration
}

func since(began moment) spent {
	ended := now()
	return spent{ended.clock.Sub(began.clock), ended.cpu - began.cpu}
}

func now() moment {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return moment{time.Now(), time.Duration(usage.Utime.Nano() + usage.Stime.Nano())}
}

// peak is the high-water mark of this program alone; getrusage would add its parent's.
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	check(err)
	for _, line := range strings.Split(string(status), "\n") {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kibibytes, err := strconv.ParseInt(fields[1], 10, 64)
			check(err)
			return kibibytes << 10
		}
	}
	return 0
}

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func fail(line string) {
	fmt.Fprintln(os.Stderr, line)
	os.Exit(1)
}

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package collector

import (
	"errors"
	"os"
	"syscall"
	"time"
)

const lockPatience = 10 * time.Second

// lock waits for a file that no other process has locked. The system unlocks it when a process ends, however it ends; the
// file itself stays.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockPatience); ; time.Sleep(20 * time.Millisecond) {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR || time.Now().After(end) {
			file.Close()
			return nil, errors.New("it is in use by another process")
		}
	}
}

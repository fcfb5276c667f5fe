#include "tools/rouse/terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace rouse::cli {
namespace {

// An alternate screen without a cursor; and back (ECMA-48, xterm's private modes 1049 and 25).
constexpr std::string_view kEnter = "\033[?1049h\033[?25l\033[2J", kLeave = "\033[?25h\033[?1049l";
constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

termios before;
bool keys = false;  // standard input is a terminal, in `before`
volatile sig_atomic_t changed = 0;

void say(std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::write(STDOUT_FILENO, text.data(), text.size());
    if (sent < 0 && errno != EINTR) return;
    if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// These two also in signal handlers: write and tcsetattr may be called there.
void enter() {
  if (keys) {
    termios raw = before;
    raw.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO));
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  say(kEnter);
}
void leave() {
  say(kLeave);
  if (keys) ::tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

// Ended from the keyboard, it has done what it was to do. Anything else is told to who waits for this process.
extern "C" void onEnd(int signal) {
  leave();
  if (signal == SIGINT) ::_exit(0);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}
extern "C" void onChange(int) { changed = 1; }
extern "C" void onStop(int) {
  const int saved = errno;
  leave();
  ::raise(SIGSTOP);  // until it goes on
  enter();
  changed = 1;
  errno = saved;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

bool Terminal::possible() { return ::isatty(STDOUT_FILENO) == 1; }

Terminal::Terminal() {
  keys = ::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &before) == 0;
  for (const int signal : kEnding) handle(signal, onEnd);
  handle(SIGWINCH, onChange);
  handle(SIGTSTP, onStop);
  enter();
}

Terminal::~Terminal() {
  for (const int signal : kEnding) handle(signal, SIG_DFL);
  handle(SIGTSTP, SIG_DFL);
  leave();
}

Terminal::Size Terminal::size() const {
  winsize found{};
  Size size;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0) return size;
  if (found.ws_col != 0) size.width = found.ws_col;
  if (found.ws_row != 0) size.height = found.ws_row;
  return size;
}

void Terminal::draw(const std::vector<std::string>& lines) {
  // Over what is there, so that nothing flickers; the rest of each line, and of the screen, is cleared.
  std::string text = "\033[H";
  for (std::size_t i = 0; i < lines.size(); ++i) text += lines[i] + "\033[K" + (i + 1 < lines.size() ? "\r\n" : "");
  say(text + "\033[J");
}

Terminal::Event Terminal::wait(std::chrono::steady_clock::time_point until) {
  for (;;) {
    if (changed != 0) {
      changed = 0;
      return Event::redraw;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    if (left <= 0) return Event::timeout;
    pollfd input{keys ? STDIN_FILENO : -1, POLLIN, 0};
    if (::poll(&input, 1, static_cast<int>(std::min<long long>(left, 1000))) <= 0) continue;
    char pressed[16];
    const ssize_t got = ::read(STDIN_FILENO, pressed, sizeof pressed);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) keys = false;
    if (got > 0 && std::find(pressed, pressed + got, 'q') != pressed + got) return Event::quit;
  }
}

}  // namespace rouse::cli

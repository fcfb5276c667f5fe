# Completion of rouse for bash; installed as /usr/share/bash-completion/completions/rouse.

# Offers the lines of standard input that begin as what has been typed. Names of functions are others': they are no list for compgen -W, which
# expands it as the shell does.
_rouse_lines() {
  local line
  while IFS= read -r line; do
    [[ $line == "$1"* ]] && COMPREPLY+=("$line")
  done
}

_rouse() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]:-} i
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W 'run status ps usage top explain timeline load unload pin unpin migrate start stop restart reload logs doctor coverage cdi config --help --version' -- "$current")
    return
  fi
  case $previous in
    --device) mapfile -t COMPREPLY < <(compgen -W 'cpu cuda auto' -- "$current"); return ;;
    --socket | --config | --output | -o) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    --leak-check) mapfile -t COMPREPLY < <(compgen -W 'full no' -- "$current"); return ;;
    --report-api-errors) mapfile -t COMPREPLY < <(compgen -W 'all no' -- "$current"); return ;;
    --gpus | --gpu-memory | --name | --print-limit | --error-exitcode | --lines | --delay | -d | --iterations | -n | --function | -f | --last) return ;;
    --sort) mapfile -t COMPREPLY < <(compgen -W 'name rate p98 met queue gpu' -- "$current"); return ;;
  esac
  case $verb in
    run)
      # Behind the program's name its own completion goes on.
      for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
          --) ((i + 1 < COMP_CWORD)) && { _command_offset $((i + 1)) 2>/dev/null; return; }
              mapfile -t COMPREPLY < <(compgen -c -- "$current"; compgen -f -- "$current"); return ;;
          --gpus | --gpu-memory | --device | --socket | --name | --leak-check | --report-api-errors | --print-limit | --error-exitcode) ((i++)) ;;
          -*) ;;
          *) _command_offset "$i" 2>/dev/null; return ;;
        esac
      done
      if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '--gpus --gpu-memory --isolated --check --leak-check --report-api-errors --print-limit --error-exitcode --device --private --socket --name --help --' -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -c -- "$current"; compgen -f -- "$current")
      fi
      ;;
    status) mapfile -t COMPREPLY < <(compgen -W '--json --unsupported --socket --help' -- "$current") ;;
    load | unload | pin | unpin)
      if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '--socket --help' -- "$current")
      else
        _rouse_lines "$current" < <(rouse ps 2>/dev/null | awk 'NR > 1 && !NF { exit } NR > 1 { print $2 }')
      fi
      ;;
    migrate)
      if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '--socket --help' -- "$current")
      elif ((COMP_CWORD == 2)); then
        _rouse_lines "$current" < <(rouse ps 2>/dev/null | awk 'NR > 1 && !NF { exit } NR > 1 { print $2 }')
      else
        _rouse_lines "$current" < <(rouse status 2>/dev/null | awk '/^GPU/ { if (gpus++) exit; next } gpus && $1 ~ /^[0-9]+$/ { print $1 }')
      fi
      ;;
    start | stop | restart | logs)
      if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '--socket --help' -- "$current")
      else
        _rouse_lines "$current" < <(rouse ps 2>/dev/null | awk '/^FUNCTION/ { on = 1; next } on { print $1 }')
      fi
      ;;
    reload) mapfile -t COMPREPLY < <(compgen -W '--socket --help' -- "$current") ;;
    timeline) mapfile -t COMPREPLY < <(compgen -W '--output --function --last --socket --help' -- "$current") ;;
    top) mapfile -t COMPREPLY < <(compgen -W '--delay --iterations --once --sort --json --socket --help' -- "$current") ;;
    ps | usage | explain) mapfile -t COMPREPLY < <(compgen -W '--json --socket --help' -- "$current") ;;
    coverage)
      mapfile -t COMPREPLY < <(compgen -W 'libcudart.so.13 libcublas.so.13 libcublasLt.so.13 libcudnn.so.9 libcufft.so.12 libcurand.so.10 libcusparse.so.12 libcusolver.so.12 libnvidia-ml.so.1 libcuda.so.1 --names --json --help' -- "$current") ;;
    doctor)
      if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '--json --socket --help' -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
      fi
      ;;
    cdi)
      if ((COMP_CWORD == 2)); then
        mapfile -t COMPREPLY < <(compgen -W 'generate --help' -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -W '--output --socket --help' -- "$current")
      fi
      ;;
    config)
      if ((COMP_CWORD == 2)); then
        mapfile -t COMPREPLY < <(compgen -W 'check --help' -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -W '--config --help' -- "$current")
      fi
      ;;
  esac
}
complete -o filenames -F _rouse rouse

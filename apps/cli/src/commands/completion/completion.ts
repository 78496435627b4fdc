import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { COMMANDS, GLOBAL_OPTIONS, PROGRAM_NAME } from '@chancery/contract'
import { FOR_ALL, replaceFile, toFailure } from '../../files/files.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Entry, type Flag, toEntries, valueFlags, zshScript } from './entries.ts'

/** The words are names of commands and flags, without characters that a shell interprets. */
function bashScript(program: string, entries: readonly Entry[]): string {
  const values = entries.flatMap(({ line, flags }) =>
    flags
      .filter((flag) => flag.choices.length > 0)
      .map((flag) => `    "${line} ${flag.name}") choices="${flag.choices.join(' ')}" ;;`),
  )
  const words = entries.map(({ line, words: next, flags, choices }) => {
    const offered = [...next.map(({ word }) => word), ...choices].join(' ')
    return `    "${line}") words="${offered}"; flags="${[...flags.map((flag) => flag.name), '--help'].join(' ')}" ;;`
  })
  return `# Completion of ${program} for bash. Load it with: source <(${program} completion bash)
_${program}() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD - 1]}"
  local line="" words="" flags="" choices="" i word
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$word" in
      ${valueFlags(entries).join('|')}) ((i++)) ;;
      -*) ;;
      *) line="\${line:+$line }$word" ;;
    esac
  done
  case "$line $prev" in
${values.join('\n')}
  esac
  if [[ -n "$choices" ]]; then
    COMPREPLY=($(compgen -W "$choices" -- "$cur"))
    return
  fi
  case "$prev" in
    ${valueFlags(entries).join('|')}) COMPREPLY=($(compgen -f -- "$cur")); return ;;
  esac
  case "$line" in
${words.join('\n')}
  esac
  if [[ "$cur" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -n "$words" ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -o filenames -F _${program} ${program}
`
}

function fishScript(program: string, entries: readonly Entry[]): string {
  const lines = entries.flatMap(({ line, words, flags, choices }) => {
    const when = `complete -c ${program} -n '__${program}_at "${line}"'`
    const offered = [...words, ...choices.map((word) => ({ word, summary: '' }))]
    return [
      ...offered.map(({ word, summary }) => `${when} -f -a ${word}${described(summary)}`),
      ...flags.map((flag) => `${when} -l ${flag.name.slice(2)}${valueOf(flag)}${described(flag.summary)}`),
    ]
  })
  return `# Completion of ${program} for fish. Save it as ~/.config/fish/completions/${program}.fish
function __${program}_at
  set -l line
  set -l isValue 0
  for word in (commandline -opc)[2..-1]
    if test $isValue = 1
      set isValue 0
      continue
    end
    switch $word
      case ${valueFlags(entries).join(' ')}
        set isValue 1
      case '-*'
      case '*'
        set -a line $word
    end
  end
  test "$line" = "$argv[1]"
end
complete -c ${program} -l help -d 'Show this help.'
${lines.join('\n')}
`
}

/** -r: a value follows. Without choices fish offers files for it. */
function valueOf({ takesValue, choices }: Flag): string {
  if (!takesValue) return ''
  return choices.length === 0 ? ' -r' : ` -x -a '${choices.join(' ')}'`
}

/** In single quotes only the quote itself and the backslash need a backslash. */
function described(summary: string): string {
  return summary === '' ? '' : ` -d '${summary.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

function powershellScript(program: string, entries: readonly Entry[]): string {
  const lines = entries.map(({ line, words, flags, choices }) => {
    const offered = [...words.map(({ word }) => word), ...choices, ...flags.map(({ name }) => name), '--help']
    return `    '${line}' { @(${offered.map((each) => `'${each}'`).join(',')}) }`
  })
  const values = valueFlags(entries).map((each) => `'${each}'`)
  return `# Completion of ${program} for PowerShell. Load it with: ${program} completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName ${program} -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $values = @(${values.join(',')})
  $line = @(); $skip = $true; $isValue = $false
  foreach ($element in $commandAst.CommandElements) {
    if ($skip) { $skip = $false; continue }
    $word = $element.ToString()
    if ($element.Extent.EndOffset -ge $cursorPosition -and $word -eq $wordToComplete) { break }
    if ($isValue) { $isValue = $false; continue }
    if ($values -contains $word) { $isValue = $true; continue }
    if (-not $word.StartsWith('-')) { $line += $word }
  }
  if ($isValue) { return }
  $offered = switch ($line -join ' ') {
${lines.join('\n')}
    default { @() }
  }
  $offered | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`
}

const SCRIPTS: Readonly<Record<string, typeof bashScript>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
  powershell: powershellScript,
}

/** Where each shell looks for completion of one user; undefined where its profile must load it. */
const PLACES: Readonly<Record<string, readonly string[]>> = {
  bash: ['.local', 'share', 'bash-completion', 'completions', PROGRAM_NAME],
  zsh: ['.zfunc', `_${PROGRAM_NAME}`],
  fish: ['.config', 'fish', 'completions', `${PROGRAM_NAME}.fish`],
  powershell: ['.config', 'powershell', `${PROGRAM_NAME}-completion.ps1`],
}

/**
 * Runs `completion`: prints a script for one shell, made from the table of the commands. The script starts no program.
 */
export async function runCompletion(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const shell = args.required('shell')
  const write = SCRIPTS[shell]
  if (write === undefined) throw new Error(`no script for ${shell}`)
  const script = write(PROGRAM_NAME, toEntries(COMMANDS, GLOBAL_OPTIONS))
  if (!options.isSet('install')) return { data: { shell, script }, text: script }
  const file = join(context.userHome, ...(PLACES[shell] ?? []))
  await mkdir(dirname(file), { recursive: true }).catch((error: unknown) => {
    throw toFailure(error, dirname(file), 'made')
  })
  await replaceFile(file, script, FOR_ALL)
  return { data: { shell, file }, ids: [file], text: `${context.style.good('Written:')} ${file}` }
}

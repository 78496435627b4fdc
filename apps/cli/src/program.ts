import { type Command, GLOBAL_OPTIONS, PROGRAM_NAME, commandsOf } from '@chancery/contract'
import { visible } from '@chancery/protocol'
import { type Command as Parser, CommanderError } from 'commander'
import type { CommandContext, Context, ProcessContext } from './context.ts'
import { type Result, chooseStyle, screen } from './output/screen.ts'
import type { ErrorText } from './errors/explain.ts'
import { CommandError, usageError } from './errors/failure.ts'
import { packageVersion } from './process.ts'
import { COMMAND_TABLE } from './command-table.ts'
import { topicHelp } from './arguments/help.ts'
import { Arguments, Options, flagName } from './arguments/options.ts'
import { type PrintForm, printError, printResult } from './output/print.ts'
import { shellWord } from './output/shell-word.ts'
import { screenedPrompts } from './prompts/prompts.ts'
import { requireReadable } from './files/files.ts'
import { buildParser, firstWord, givenOptions } from './arguments/parser.ts'

/** Runs one command line and returns the exit code (errors/exit-codes.ts). */
export async function runProgram(argv: readonly string[], processContext: ProcessContext): Promise<number> {
  const { stdout, stderr, prompts } = processContext
  const context: Context = {
    ...processContext,
    stdout: screen(stdout),
    stderr: screen(stderr),
    prompts: screenedPrompts(prompts),
  }
  // Read before parsing, because a parse error is reported in the same form.
  const isRefused = argv.includes('--no-color')
  const json = argv.includes('--json')
  const style = chooseStyle(context.stdout, context.env, isRefused)
  let outcome: Outcome | undefined
  let line: readonly string[] = []
  const parser = buildParser({
    commands: await commandsOf(firstWord(argv)),
    line: argv,
    version: packageVersion(),
    style,
    columns: context.stdout.columns || 80,
    write: (text) => context.stdout.write(text),
    writeError: (text) => context.stderr.write(text),
    run: async (command, leaf) => {
      line = command.path
      outcome = await execute(command, leaf, context)
    },
  })
  try {
    if (argv.length === 0) {
      parser.outputHelp()
      return 0
    }
    if (argv[0] === 'help') return await showHelp(argv.slice(1), processContext)
    if (json && argv.includes('--version') && argv.length === 2) {
      printResult(context.stdout, { data: versions() }, { json, quiet: false })
      return 0
    }
    await parser.parseAsync([...argv], { from: 'user' })
    if (outcome === undefined) return 0
    refuseSilentFailure(outcome.result, line)
    printResult(context.stdout, outcome.result, outcome.form)
    return outcome.result.exitCode ?? 0
  } catch (error) {
    if (error instanceof CommanderError && (error.exitCode === 0 || error.code === 'commander.help')) {
      return error.exitCode === 0 ? 0 : 2
    }
    const explained = withNextStep(await explainAny(error, context), line)
    printError(context.stderr, explained, json, chooseStyle(context.stderr, context.env, isRefused))
    return explained.exitCode
  }
}

function versions(): { readonly version: string; readonly node: string } {
  return { version: packageVersion(), node: process.versions.node }
}

/** `help a b` is the help of `a b`; `help topics` lists texts about the whole program. */
async function showHelp(words: readonly string[], context: ProcessContext): Promise<number> {
  const topic = words.length === 1 ? topicHelp(words[0]) : undefined
  if (topic === undefined) return runProgram([...words, '--help'], context)
  context.stdout.write(topic)
  return 0
}

interface Outcome {
  readonly result: Result
  readonly form: PrintForm
}

async function execute(command: Command, leaf: Parser, context: Context): Promise<Outcome> {
  const load = COMMAND_TABLE[command.path.join(' ')]
  if (load === undefined) throw new Error(`${command.path.join(' ')} is not implemented`)
  const options = new Options(givenOptions(leaf), [...GLOBAL_OPTIONS, ...command.options])
  requireOptions(command, options)
  const words = command.arguments.map(({ name, variadic }, index) => {
    return [name, leaf.args.slice(index, variadic === true ? undefined : index + 1)] as const
  })
  const args = new Arguments(new Map(words))
  const commandContext = toCommandContext(command, options, context)
  // The services read it themselves, and have other codes.
  const settings = options.has('env-file') ? options.text('env-file') : undefined
  if (settings !== undefined) await requireReadable(context.cwd, settings)
  const run = await load()
  const form = { json: commandContext.json, quiet: options.isSet('quiet') }
  return { result: await run(commandContext, args, options), form }
}

/** Runs after the parser, so that a misspelt flag is not reported as missing. Reports all missing flags at once. */
function requireOptions(command: Command, options: Options): void {
  const names = command.options.filter(({ required }) => required === true).map(({ flags }) => flagName(flags))
  const missing = names.filter((name) => !options.isSet(name)).map((name) => `--${name}`)
  if (missing.length === 0) return
  throw usageError(`${missing.join(', ')} must be given.`, `See: ${PROGRAM_NAME} ${command.path.join(' ')} --help`)
}

function toCommandContext(command: Command, options: Options, context: Context): CommandContext {
  const [json, isQuiet] = [options.isSet('json'), options.isSet('quiet')]
  const isColorRefused = options.isSet('no-color')
  const errorStyle = chooseStyle(context.stderr, context.env, isColorRefused)
  return {
    ...context,
    command,
    json,
    isInteractive: context.stdin.isTTY === true && context.stderr.isTTY,
    style: chooseStyle(context.stdout, context.env, isColorRefused),
    note: (text) => {
      if (!isQuiet) context.stderr.write(`${errorStyle.warn('note:')} ${visible(text)}\n`)
    },
    again: (line) => `${line}${repeated(options)}`,
    showProgress: context.stderr.isTTY && !isQuiet && !json,
  }
}

function repeated(options: Options): string {
  const given = ['home', 'network', 'url', 'genesis', 'operator-key'].map((name) => [name, options.text(name)] as const)
  return given.map(([name, value]) => (value === undefined ? '' : ` --${name} ${shellWord(value)}`)).join('')
}

/** A service prints its own problems, without a next step. */
function refuseSilentFailure({ exitCode, text, data }: Result, line: readonly string[]): void {
  if (exitCode !== 1 || text !== undefined || data !== undefined) return
  throw new CommandError({
    code: 'service_failed',
    message: 'The command failed. The lines above name the reason.',
    hint: `See: ${[PROGRAM_NAME, ...line].join(' ')} --help. Settings are checked by chancery doctor.`,
    exitCode: 1,
  })
}

/** Every error names a next step; without a better one it is the help of the command. */
function withNextStep(explained: ErrorText, line: readonly string[]): ErrorText {
  if ((explained.hint ?? '') !== '' || explained.code === 'cancelled') return explained
  return { ...explained, hint: `See: ${[PROGRAM_NAME, ...line].join(' ')} --help` }
}

async function explainAny(error: unknown, context: Context): Promise<ErrorText> {
  if (!(error instanceof CommanderError)) {
    // Loaded here: it knows the errors of the whole library, and most runs have none.
    const { explain } = await import('./errors/explain.ts')
    return explain(error, (context.env['CHANCERY_DEBUG'] ?? '') !== '')
  }
  if (error.code === 'commander.unknownCommand') return unknownCommand(error.message)
  // The parser starts errors with "error: "; a suggestion follows on a second line.
  const [message = '', ...rest] = error.message.replace(/^error: /, '').split('\n')
  const help = 'helpLine' in error && typeof error.helpLine === 'string' ? error.helpLine : ''
  return { code: 'usage', message, hint: [...rest, help].join('\n'), exitCode: 2 }
}

/** The nearest command by spelling, over all words of the path. */
async function unknownCommand(message: string): Promise<ErrorText> {
  const [, word = ''] = /unknown command '([^']*)'/.exec(message) ?? []
  const { COMMANDS } = await import('@chancery/contract')
  const ranked = COMMANDS.map(({ path }) => {
    const distances = [path.join(' '), ...path].map((each) => distance(word, each))
    return { path, distance: Math.min(...distances) }
  }).toSorted((a, b) => a.distance - b.distance)
  const [nearest] = ranked
  const isNear = nearest !== undefined && nearest.distance <= Math.max(2, Math.floor(word.length / 3))
  const hint = isNear
    ? `Did you mean: ${[PROGRAM_NAME, ...nearest.path].join(' ')}`
    : `All commands: ${PROGRAM_NAME} --help`
  return { code: 'usage', message: `There is no command "${word}".`, hint, exitCode: 2 }
}

/** How many letters differ (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...b].entries())
      next.push(Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, (row[j] ?? 0) + (letter === other ? 0 : 1)))
    row = next
  }
  return row.at(-1) ?? 0
}

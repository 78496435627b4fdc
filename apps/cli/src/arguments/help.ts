import { COMMAND_GROUPS, type Command, GLOBAL_OPTIONS, PROGRAM_NAME, ROOT_HEADINGS } from '@chancery/contract'
import type { Style } from '../output/screen.ts'
import { flagName } from './options.ts'

const HELP = 'Show the help of a command'

/** Summaries of the verbs of the program. Not read from their tables: help of the program loads none of them. */
const VERBS: Readonly<Record<string, string>> = {
  demo: 'Run a demo network and open its console',
  init: 'Create a network in a folder',
  up: 'Start the services of a folder',
  down: 'Stop them',
  status: 'Show services, network and node of a folder',
  logs: 'Show the log of a service',
  use: 'Select the network of later commands',
  join: 'Join a network with an invite',
  ask: 'Ask for a decision: allowed or denied',
  verify: 'Verify any signed file, offline',
  keygen: 'Create a key pair',
  doctor: 'Check a deployment and print fixes',
  settings: 'Print every setting of a service with its origin',
  completion: 'Print shell completion',
  help: HELP,
}

/** The help of the program: every first word, under its heading. */
export function rootHelp(style: Style): string {
  const parts = ROOT_HEADINGS.map(([title, words]) => {
    const rows = words.split(' ').map((word) => row(word, COMMAND_GROUPS[word]?.summary ?? VERBS[word] ?? ''))
    return [style.title(title), ...rows].join('\n')
  })
  const shown = GLOBAL_OPTIONS.filter(({ flags }) => ['home', 'network', 'json', 'quiet'].includes(flagName(flags)))
  const options = [
    ...shown.map(({ flags, summary }) => `  ${flags.padEnd(16)}  ${summary}`),
    '  --help            Show help; --version shows the version',
  ]
  return [
    `Usage: ${PROGRAM_NAME} <command> [options]\n\n${ABOUT}`,
    ...parts,
    [style.title('Options of every command'), ...options].join('\n'),
    [
      'First steps:   chancery demo',
      'Your network:  chancery init --home ./harbour --name HARBOUR',
      'More help:     chancery help topics',
    ].join('\n'),
    '',
  ]
    .join('\n\n')
    .replace(/\n\n$/, '\n')
}

const ABOUT = "Chancery lets machines of two companies act on each other's systems.\n\nCommands:"

function row(word: string, summary: string): string {
  return `  ${word.padEnd(11)}  ${summary}`
}

/** The help of a word that only groups commands, each under its heading. */
export function groupHelp(word: string, commands: readonly Command[], style: Style): string {
  const group = COMMAND_GROUPS[word]
  if (group === undefined) throw new Error(`${word} is no group`)
  const summaries = new Map(commands.map(({ path, summary }) => [path.join(' '), summary]))
  const names = group.headings.map(([title, text]) => [title, text.split(', ')] as const)
  const width = Math.max(...names.flatMap(([, all]) => all.map((name) => name.length)))
  const parts = names.map(([title, all]) => {
    const rows = all.map((name) => `  ${name.padEnd(width)}  ${summaries.get(`${word} ${name}`) ?? ''}`)
    return [style.title(title), ...rows].join('\n')
  })
  const more = group.more === undefined ? '' : `\n\n${group.more}`
  return `Usage: ${PROGRAM_NAME} ${word} <command> [options]\n\n${group.description}\n\nCommands:\n${parts.join('\n')}${more}\n`
}

const TOPICS = {
  networks: `The network of a command comes from the first of these that there is:
  1  --home, or --network, or --genesis with --url
  2  CHANCERY_HOME, then CHANCERY_NETWORK
  3  chancery.toml in the current folder
  4  the choice of chancery use
Sources are never mixed. --url, --genesis and --operator-key replace one value. Before its first call a command gets
the genesis block of the server: it sends nothing more to another network.`,
  'exit-codes': `0    done; for a question: yes
1    the answer is no: denied, not valid, not trusted, a check failed
2    called wrongly, or an input cannot be used
3    unknown: a key, a list or a decision is missing
4    the authority or gateway refused; code and request id are printed
5    no connection, or another network answers
6    this machine: port, disk, permission, a service did not start
70   a defect of the program
130  interrupted, or "no" to a question`,
  output: `Standard output has the result: text, or one JSON document with --json. Standard error has errors, warnings, notes,
progress and questions. --quiet prints ids and paths only. NO_COLOR and --no-color switch colours off.`,
  files: `A home is one folder with chancery.toml. An authority: authority.env, genesis.json, keys/, database. A gateway:
gateway.env, policy.json, state/. A node: node.key, certificate.json, genesis.json. Saved networks are in
~/.config/chancery/config.toml; XDG_CONFIG_HOME and CHANCERY_CONFIG_DIR move it.`,
  environment: `CHANCERY_HOME, CHANCERY_NETWORK   the target of commands
CHANCERY_CONFIG_DIR               folder of the saved networks
CHANCERY_DEBUG=1                  stack of a defect
NO_COLOR, FORCE_COLOR             colours
Settings of the services: chancery settings`,
} as const

/** `chancery help topics`, and the text of one topic. */
export function topicHelp(name: string | undefined): string | undefined {
  if (name === undefined || name === 'topics')
    return `Topics: ${Object.keys(TOPICS).join(', ')}\nShow one with: ${PROGRAM_NAME} help networks\n`
  return Object.hasOwn(TOPICS, name) ? `${TOPICS[name as keyof typeof TOPICS]}\n` : undefined
}

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { table } from '../generate/markdown.ts'

/** docs/first-hour.md, from the commands of first-hour.json and measured seconds. */

export interface OtherTask {
  readonly typed?: readonly string[]
  /** Questions that the commands ask on the terminal. */
  readonly prompts?: number
  /** Files that are written or edited by hand. */
  readonly files?: number
  readonly seconds?: string
  readonly source?: string
  /** The page has the command and its flags, but not this line. */
  readonly composed?: true
  /** Why there is no command. */
  readonly none?: string
}

export interface Task {
  readonly task: string
  /** Not typed and not measured: another organisation, a shell variable. */
  readonly before?: string
  readonly typed: readonly string[]
  /** Not typed, but measured. */
  readonly wait?: string
  readonly others: Readonly<Record<string, OtherTask>>
}

/** A page that a new user follows from the first command to the last. */
export interface FollowedPage {
  readonly page: string
  /** As the reader reads it. */
  readonly title: string
  /** Commands and characters, with `npm install`. tests/e2e/first-hour.test.ts compares them with the page. */
  readonly typed: string
  readonly seconds: string
}

interface FirstHour {
  readonly pages: readonly FollowedPage[]
  readonly projects: readonly string[]
  readonly sources: Readonly<Record<string, string>>
  readonly tasks: readonly Task[]
}

const DATA = join(import.meta.dirname, 'first-hour.json')
const data = (): FirstHour => JSON.parse(readFileSync(DATA, 'utf8')) as FirstHour

export function readTasks(): readonly Task[] {
  return data().tasks
}

/** Returns commands and characters: `3, 141`. */
export function effort(typed: readonly string[]): string {
  return `${typed.length}, ${typed.reduce((sum, command) => sum + command.replaceAll('\n', '').length, 0)}`
}

/** `seconds` has the shortest and the longest time of each task, as text: `3.1 to 7.8`. */
export function firstHourPage(seconds: readonly string[], conditions: string): string {
  const { pages, projects, tasks } = data()
  const rows = tasks.map(({ task, typed, others }, index) => [
    task,
    effort(typed),
    seconds[index] ?? '',
    ...projects.map((project) => otherCell(others[project])),
  ])
  return `${[
    '# The first hour',
    'How much a person types for ten tasks, here and with four related projects. Use it to see where Chancery needs more commands than others. It does not compare features: an identity of SPIRE is an X.509 certificate, one of Chancery is not.',
    `We ran our commands with \`npm run docs:first-hour\` ${conditions}, while other programs used the same machine. Seconds are the shortest and the longest of three runs; the load causes most of the difference. We did not run the other projects. Their commands are from stored copies of their public documentation, which can be older than the current pages. Where the pages state no seconds, the table has none: seconds are not stated for any of them, with one exception.`,
    table(['Task', 'Chancery: commands, characters', 'Seconds', ...projects], rows),
    'A demo that was left alone for 30 minutes, and other measurements: [evidence](evidence.md).',
    '## Whole pages',
    'These pages lead a new user from nothing to an allowed and a refused request. The numbers include one command for `npm install`, and leave out the commands that stop everything. `tests/e2e/first-hour.nightly.test.ts` runs both pages from packed files, `first-hour.test.ts` runs the README and then the tutorial about two companies with the built program, and fails from 12 commands on. The seconds are without the installation, with the built program of a checkout, on 2026-11-16. They include the stop. Other programs used both cores at a higher priority (load 13 to 17). We did not measure an idle machine.',
    table(
      ['Page', 'Commands, characters', 'Seconds'],
      pages.map(({ page, title, typed, seconds: measured }) => [`[${title}](${linkTo(page)})`, typed, measured]),
    ),
    '## How it is counted',
    [
      '- A cell has the number of commands, then the characters of these commands without line ends. Placeholders and paths count as printed.',
      '- Installation, shell variables and the start of the second organisation are not counted, here or there.',
      '- "Questions" are prompts of the command. Their answers are not counted. "Files" are written or edited by hand. Their characters are not counted.',
      '- Commands of the other projects are as printed, with continued lines joined. "Composed" means that the page documents the command or the route, and we wrote the line.',
      '- "Outside its scope" is our assessment, as in the [comparison](comparison.md).',
      '- Seconds include the time until the server is ready.',
      '- "No command in the pages read" means that we did not find one in the pages below. The project may have one.',
      '- Accepting a second organisation: one direction only. SPIRE: the configuration of both servers, and the trust bundle and entry of one side.',
      '- The decision of OPA is not signed, so its column has no offline verification.',
      '- Revocation differs. step-ca refuses the renewal and the certificate stays valid until it expires, one day by default. SPIRE evicts the agent.',
    ].join('\n'),
    '## What we type',
    ...tasks.map(({ task, typed }) => `${task}:\n\n\`\`\`sh\n${typed.join('\n')}\n\`\`\``),
    '## What their documentation says',
    ...projects.map((project) => projectSection(project)),
  ].join('\n\n')}\n`
}

/** From docs. */
function linkTo(page: string): string {
  return page.startsWith('docs/') ? page.slice('docs/'.length) : `../${page}`
}

function otherCell(other: OtherTask | undefined): string {
  if (other?.typed === undefined) return other?.none ?? ''
  const more = [
    ...(other.prompts === undefined ? [] : [`${other.prompts} ${other.prompts === 1 ? 'question' : 'questions'}`]),
    ...(other.files === undefined ? [] : [`${other.files} ${other.files === 1 ? 'file' : 'files'}`]),
    ...(other.composed === undefined ? [] : ['composed']),
    ...(other.seconds === undefined ? [] : [`${other.seconds}, in seconds`]),
  ]
  return [effort(other.typed), ...more].join('; ')
}

function projectSection(project: string): string {
  const { sources, tasks } = data()
  const blocks = tasks.flatMap(({ task, others }) => {
    const { typed, source = '' } = others[project] ?? {}
    return typed === undefined
      ? []
      : [`${task} ([source](${sources[source]})):\n\n\`\`\`sh\n${typed.join('\n')}\n\`\`\``]
  })
  return [`### ${project}`, ...blocks].join('\n\n')
}

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { countEnded, failedCampaigns } from '../../tests/campaigns/lib/report.ts'

/**
 * `npm run nightly:report -- FOLDER --parts N --commit COMMIT`: makes the text of an issue from what the jobs of a night
 * left in FOLDER: `campaigns-N.jsonl` of `npm run campaign -- --all --part N/N --report FILE`, and `*.log` of
 * `npm run check:nightly`. Ends with 0 when the night found nothing, with 1 when there is something to report.
 */

export interface Night {
  readonly commit: string
  /** Number of parts of the campaigns. A part without a file is a failure. */
  readonly parts: number
  /** Names of logs that must be there. */
  readonly logs: readonly string[]
  /** Files of the folder by their names. */
  readonly files: ReadonlyMap<string, string>
}

export interface NightReport {
  readonly isGood: boolean
  readonly text: string
}

const CLOSING_LINE = /^(\d+) passed, (\d+) failed$/
/** Lines of a log that a reader needs: failed steps, failed tests and the command that repeats them. */
const TELLING = /^(?:FAILED |failed: |not run |repeat with: )/
/** A machine of the night has all programs. */
const NOT_RUN_LINE = /^\d+ not run: /
const MOST_LINES = 40

/** Returns the text of the issue in Markdown. Names and reasons come from programs of this repository. */
export function describeNight({ commit, parts, logs, files }: Night): NightReport {
  const campaigns = Array.from({ length: parts }, (_, index) => `campaigns-${index + 1}.jsonl`)
  const missing = [...campaigns, ...logs].filter((name) => !files.has(name))
  const texts = campaigns.map((name) => files.get(name) ?? '')
  const failed = texts.flatMap((text) => failedCampaigns(text))
  const badLogs = logs.flatMap((name) => describeLog(name, files.get(name) ?? ''))
  const ended = texts.map(countEnded).reduce((sum, count) => sum + count, 0)
  const isGood = missing.length === 0 && failed.length === 0 && badLogs.length === 0 && ended > 0
  const lines = [`Commit ${commit}. ${ended} campaigns ended.`, '']
  if (failed.length > 0) lines.push('| Campaign | Result | Repeat |', '|---|---|---|')
  for (const { name, seed, reason } of failed)
    lines.push(`| ${name} | ${inCell(reason)} | \`npm run campaign -- ${name} --seed ${seed}\` |`)
  if (missing.length > 0) lines.push('', `Without a result: ${missing.join(', ')}. The job ended before it wrote one.`)
  for (const each of badLogs) lines.push('', ...each)
  return { isGood, text: `${lines.join('\n')}\n` }
}

/** Returns nothing for a log whose last line counts no failure. */
function describeLog(name: string, log: string): readonly string[][] {
  if (log === '') return []
  const all = log.trimEnd().split('\n')
  const count = CLOSING_LINE.exec(all.at(-1) ?? '')
  const isComplete = !all.some((line) => NOT_RUN_LINE.test(line))
  if (count !== null && Number(count[2]) === 0 && Number(count[1]) > 0 && isComplete) return []
  // A fence that a test prints must not end the block.
  const told = all.filter((line) => TELLING.test(line)).map((line) => line.slice(0, 300).replaceAll('`', "'"))
  const last = count === null ? 'has no closing line, so it was ended' : `ends with ${count[0]}`
  return [[`${name} ${last}.`, '', '```text', ...told.slice(0, MOST_LINES), '```']]
}

function inCell(text: string): string {
  return text.replaceAll('|', '/').replaceAll('`', "'")
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      commit: { type: 'string', default: 'unknown' },
      parts: { type: 'string', default: '1' },
      logs: { type: 'string', default: '' },
    },
  })
  const [folder = '.'] = positionals
  const names = globSync('*.{jsonl,log}', { cwd: folder })
  const files = new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
  const logs = values.logs.split(',').filter(Boolean)
  const { isGood, text } = describeNight({ commit: values.commit, parts: Number(values.parts), logs, files })
  process.stdout.write(text)
  process.exitCode = isGood ? 0 : 1
}

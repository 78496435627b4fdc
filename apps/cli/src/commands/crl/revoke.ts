import { resolve } from 'node:path'
import { REVOCATION_REASONS, isPlainText } from '@chancery/protocol'
import type { RevocationReason } from '@chancery/protocol'
import type { Client, Counted, RevocationForecast, RevocationResult } from '@chancery/sdk'
import { connectAsOperator } from '../../connection.ts'
import type { Connection } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { explain } from '../../explain.ts'
import { Failure, misuse } from '../../failure.ts'
import { countedText, foreseeThenAsk } from '../../foresee.ts'
import type { Forecast } from '../../foresee.ts'
import { readText } from '../../files.ts'
import { findCertificate } from '../../node-home.ts'
import type { Arguments, Options } from '../../options.ts'
import { fields } from '../../output/table.ts'
import { visible } from '../../output/visible.ts'

const PER_CALL = 1000

/** revoke: final, so it asks first; long lists go in calls of a thousand, each of which happens whole or not at all. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const ids = await readIds(context.cwd, args.list('certificate'), options.text('file'))
  const reason = readReason(options.textOrDefault('reason'))
  const connection = await connectAsOperator(context, options)
  const { forecast, only } = await foreseeThenAsk(context, options, {
    foresee: () => foreseeAll(connection, ids, reason),
    question: question(ids, reason, connection.url),
  })
  if (only !== undefined) return only
  const done = await revokeAll(context, connection, ids, reason)
  const rows = fields(
    [
      ['reason', reason],
      [
        'list',
        `number ${done.crl_sequence}, with ${done.revoked_count} ${done.revoked_count === 1 ? 'entry' : 'entries'}`,
      ],
    ],
    context.style,
  )
  const { crl_sequence, revoked_count } = done
  const data = { revoked: ids.length, reason, crl_sequence, revoked_count, forecast: forecast.data }
  return { data, text: `${context.style.good('Revoked')} ${counted(ids.length)}.\n${rows}` }
}

/** Ids from the line and the file, each once; a certificate file stands for the id in it. */
async function readIds(cwd: string, given: readonly string[], file: string | undefined): Promise<readonly string[]> {
  const named: string[] = []
  for (const word of given) {
    if (!word.endsWith('.json')) named.push(word)
    else named.push(await idIn(resolve(cwd, word)))
  }
  const lines = file === undefined ? [] : (await readText(resolve(cwd, file))).split('\n')
  const listed = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))
  const ids = [...new Set([...named, ...listed])]
  if (ids.length === 0)
    throw misuse('No certificate is named.', 'Give certificate ids, or --file with one id per line.')
  const wrong = ids.find((id) => !isPlainText(id, 128) || /\s/.test(id))
  if (wrong !== undefined) throw misuse(`${visible(wrong.slice(0, 128))} is not a certificate id.`)
  return ids
}

async function idIn(file: string): Promise<string> {
  const certificate = await findCertificate(file)
  if (certificate !== undefined) return certificate.cert_id
  throw new Failure({ code: 'file_error', message: `${file} cannot be read: there is no such file or folder.` })
}

function readReason(word: string): RevocationReason {
  const reason = REVOCATION_REASONS.find((each) => each === word)
  if (reason === undefined) throw misuse(`--reason must be one of ${REVOCATION_REASONS.join(', ')}.`)
  return reason
}

function question(ids: readonly string[], reason: RevocationReason, url: string): string {
  const what = ids.length === 1 ? `certificate ${visible(ids[0] ?? '')}` : counted(ids.length)
  const more =
    reason === 'key_compromise'
      ? ' Every other certificate of the same node keys goes with it, and the keys are barred.'
      : ''
  return `Revoke ${what} at ${url} (${reason})?${more} This cannot be undone.`
}

/** Every part is asked for before the first is sent: an unknown id anywhere then changes nothing at all. */
async function foreseeAll(connection: Connection, ids: readonly string[], reason: RevocationReason): Promise<Forecast> {
  const parts: RevocationForecast[] = []
  for (let at = 0; at < ids.length; at += PER_CALL) {
    const chunk = ids.slice(at, at + PER_CALL) as [string, ...string[]]
    parts.push(await connection.ask((client) => client.crl.revoke({ cert_ids: chunk, reason, dryRun: true })))
  }
  const certificates = sum(parts.map((part) => part.certificates_revoked))
  const raised = sum(parts.map((part) => part.reasons_raised))
  const agents = sum(parts.map((part) => part.agents_dropped))
  const wouldChange = parts.some((part) => part.would_change)
  const data = {
    dry_run: true,
    would_change: wouldChange,
    certificates_revoked: certificates,
    reasons_raised: raised,
    agents_dropped: agents,
  }
  // Parts may name the same agent twice: two certificates of one key.
  const most = parts.length > 1 ? 'at most ' : ''
  const lines = [
    `Would stop being trusted: ${most}${countedText(certificates, 'certificate')}`,
    `Would leave the registry: ${most}${countedText(agents, 'agent')}`,
    ...(raised.count === 0 ? [] : [`Revoked before, now for ${reason}: ${most}${countedText(raised, 'certificate')}`]),
  ]
  return { data, lines: wouldChange ? lines : ['All of them are revoked already.'] }
}

function sum(parts: readonly Counted[]): Counted {
  const count = parts.reduce((all, part) => all + part.count, 0)
  const sample = [...new Set(parts.flatMap((part) => part.sample))]
  return { count, sample: sample.slice(0, 20) }
}

/** One call after the other. A failure says how far it came: what was done stays done, and repeating does no harm. */
async function revokeAll(
  context: CommandContext,
  connection: Connection,
  ids: readonly string[],
  reason: RevocationReason,
): Promise<RevocationResult> {
  let [result, done] = [{ crl_sequence: 0, revoked_count: 0 } as RevocationResult, 0]
  while (done < ids.length) {
    const chunk = ids.slice(done, done + PER_CALL) as [string, ...string[]]
    const revoke = (client: Client): Promise<RevocationResult> => client.crl.revoke({ cert_ids: chunk, reason })
    result = await connection.ask(revoke).catch((error: unknown) => {
      throw done === 0 ? error : toPartial(error, done, ids.length)
    })
    done += chunk.length
    if (ids.length > PER_CALL) context.note(`${done} of ${ids.length} certificates are revoked`)
  }
  return result
}

function toPartial(error: unknown, done: number, all: number): Failure {
  const { code, message, hint } = explain(error)
  const told = `${done} of ${all} certificates are revoked; then: ${message}`
  return new Failure({ code, message: told, hint: hint ?? 'Run the same command again.' }, { cause: error })
}

function counted(count: number): string {
  return `${count} certificate${count === 1 ? '' : 's'}`
}

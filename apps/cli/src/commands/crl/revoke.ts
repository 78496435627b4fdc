import { resolve } from 'node:path'
import { REVOCATION_REASONS, isPlainText, visible } from '@chancery/protocol'
import type { JoinCertificate, RevocationReason } from '@chancery/protocol'
import type {
  Client,
  CountedSample,
  RevocationPreview,
  RevocationResult,
  RevokedCertificates,
} from '@chancery/sdk/authority'
import { type Connection, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, fields } from '../../output/screen.ts'
import { explain } from '../../errors/explain.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { type Preview, countedText, previewThenConfirm } from '../../prompts/preview.ts'
import { readText } from '../../files/files.ts'
import { findCertificate } from '../../connection/node-folder.ts'
import type { Arguments, Options } from '../../arguments/options.ts'

const PER_CALL = 1000
const TEXTS_PER_CALL = 100

interface Plan {
  readonly ids: readonly string[]
  /** The same certificates in parts, one call for each. */
  readonly parts: readonly RevokedCertificates[]
  readonly reason: RevocationReason
  readonly onlyThis: boolean
}

/**
 * Runs `revoke`: permanent, so it asks first. Sends at most a thousand per call; each call succeeds or fails as a
 * whole.
 */
export async function runRevoke(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { ids, parts } = await readNamed(context, args, options)
  const plan = { ids, parts, ...readScope(options) }
  const { reason } = plan
  const connection = await connectAsOperator(context, options)
  const { preview, only } = await previewThenConfirm(context, options, {
    preview: () => previewAll(connection, plan),
    question: question(plan, connection.url),
  })
  if (only !== undefined) return only
  const done = await revokeAll(context, connection, plan)
  // The preview of an earlier call may name a certificate that a later one revokes.
  const others = parts.length > 1 ? { count: 0, sample: [] } : done.other_certificates
  const rules = done.admission_rules ?? []
  const rows = fields(
    [
      ['reason', reason],
      [
        'list',
        `number ${done.crl_sequence}, with ${done.revoked_count} ${done.revoked_count === 1 ? 'entry' : 'entries'}`,
      ],
      ...(done.also_revoked.count === 0
        ? []
        : [['also', `${countedText(done.also_revoked, 'certificate')} of the same node keys`] as const]),
      ...(others.count === 0
        ? []
        : [['warning', `still valid, of the same node keys: ${countedText(others, 'certificate')}`] as const]),
      ...rules.map(
        (rule) =>
          ['rule', `${visible(rule)} admits its workload with a new key; chancery invite withdraw ends it`] as const,
      ),
    ],
    context.style,
  )
  const { crl_sequence, revoked_count } = done
  const data = {
    revoked: ids.length,
    reason,
    crl_sequence,
    revoked_count,
    also_revoked: { ...done.also_revoked },
    other_certificates: { ...others },
    ...(rules.length === 0 ? {} : { admission_rules: rules }),
    forecast: preview.data,
  }
  return { data, text: `${context.style.good('Revoked')} ${counted(ids.length)}.\n${rows}` }
}

/** Selects certificates by id. After a restore the authority may lack them, so the text, or id and key, are sent. */
async function readNamed(
  { cwd }: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Pick<Plan, 'ids' | 'parts'>> {
  const [given, file, nodeKey] = [args.list('certificate'), options.text('file'), options.text('node')]
  if (options.isSet('forgotten')) {
    if (
      file !== undefined ||
      nodeKey !== undefined ||
      given.length === 0 ||
      given.some((one) => !one.endsWith('.json'))
    )
      throw usageError('--forgotten takes certificate files.', 'Of a certificate without one give its id and --node.')
    const certificates: JoinCertificate[] = []
    for (const one of given) certificates.push(await certificateIn(resolve(cwd, one)))
    return {
      ids: certificates.map(({ cert_id }) => cert_id),
      parts: chunksOf(certificates, TEXTS_PER_CALL).map((some) => ({ certificates: some })),
    }
  }
  const ids = await readIds(cwd, given, file)
  const [only, ...more] = ids
  if (nodeKey === undefined) return { ids, parts: chunksOf(ids, PER_CALL).map((some) => ({ cert_ids: some })) }
  if (only === undefined || more.length > 0) throw usageError('--node goes with one certificate id.')
  return { ids, parts: [{ cert_ids: [only], node_public_key: nodeKey }] }
}

function chunksOf<Value>(all: readonly Value[], size: number): (readonly [Value, ...Value[]])[] {
  const chunks: (readonly [Value, ...Value[]])[] = []
  for (let at = 0; at < all.length; at += size) {
    const [first, ...others] = all.slice(at, at + size)
    if (first !== undefined) chunks.push([first, ...others])
  }
  return chunks
}

/** Returns the ids of the command line and the file, each once. For a certificate file it uses the id inside. */
async function readIds(cwd: string, given: readonly string[], file: string | undefined): Promise<readonly string[]> {
  const named: string[] = []
  for (const word of given) {
    if (!word.endsWith('.json')) named.push(word)
    else named.push((await certificateIn(resolve(cwd, word))).cert_id)
  }
  const lines = file === undefined ? [] : (await readText(resolve(cwd, file))).split('\n')
  const listed = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))
  const ids = [...new Set([...named, ...listed])]
  if (ids.length === 0)
    throw usageError('No certificate is named.', 'Give certificate ids, or --file with one id per line.')
  const wrong = ids.find((id) => !isPlainText(id, 128) || /\s/.test(id))
  if (wrong !== undefined) throw usageError(`${visible(wrong.slice(0, 128))} is not a certificate id.`)
  return ids
}

async function certificateIn(file: string): Promise<JoinCertificate> {
  const certificate = await findCertificate(file)
  if (certificate !== undefined) return certificate
  throw new CommandError({ code: 'file_error', message: `${file} cannot be read: there is no such file or folder.` })
}

/** The others of a key end with a certificate, unless --only-this is given. --all-of-key is from earlier releases. */
function readScope(options: Options): Pick<Plan, 'reason' | 'onlyThis'> {
  const [reason, onlyThis] = [readReason(options.textOrDefault('reason')), options.isSet('only-this')]
  if (onlyThis && reason === 'key_compromise')
    throw usageError('A compromised key has no certificate to keep.', 'Leave --only-this out.')
  return { reason, onlyThis }
}

function readReason(word: string): RevocationReason {
  const reason = REVOCATION_REASONS.find((each) => each === word)
  if (reason === undefined) throw usageError(`--reason must be one of ${REVOCATION_REASONS.join(', ')}.`)
  return reason
}

function question({ ids, reason, onlyThis }: Plan, url: string): string {
  const what = ids.length === 1 ? `certificate ${visible(ids[0] ?? '')}` : counted(ids.length)
  const more =
    reason === 'key_compromise'
      ? ' Every other certificate of the same node keys goes with it, and the keys are barred.'
      : onlyThis
        ? ' Other certificates of the same node keys stay valid, and the node can go on with them.'
        : ' Every other certificate of the same node keys goes with it.'
  return `Revoke ${what} at ${url} (${reason})?${more} This cannot be undone.`
}

/** Requests the previews of all parts before the first revocation, so that an unknown id changes nothing. */
async function previewAll(connection: Connection, plan: Plan): Promise<Preview> {
  const { reason, onlyThis } = plan
  const parts: RevocationPreview[] = []
  for (const part of plan.parts)
    parts.push(
      await connection.ask((client) => client.crl.revoke({ ...part, reason, only_this: onlyThis, dry_run: true })),
    )
  const certificates = sum(parts.map((part) => part.certificates_revoked))
  const others = sum(parts.map((part) => part.other_certificates))
  const raised = sum(parts.map((part) => part.reasons_raised))
  const agents = sum(parts.map((part) => part.agents_dropped))
  const wouldChange = parts.some((part) => part.would_change)
  const data = {
    dry_run: true,
    would_change: wouldChange,
    certificates_revoked: certificates,
    other_certificates: others,
    reasons_raised: raised,
    agents_dropped: agents,
  }
  // Two parts may name the same agent, because one key can have two certificates.
  const most = parts.length > 1 ? 'at most ' : ''
  const lines = [
    `Would stop being trusted: ${most}${countedText(certificates, 'certificate')}`,
    `Would leave the registry: ${most}${countedText(agents, 'agent')}`,
    ...(others.count === 0
      ? []
      : [`Warning: still valid, of the same node keys: ${most}${countedText(others, 'certificate')}`]),
    ...(raised.count === 0 ? [] : [`Revoked before, now for ${reason}: ${most}${countedText(raised, 'certificate')}`]),
  ]
  return { data, lines: wouldChange ? lines : ['All of them are revoked already.'] }
}

function sum(parts: readonly CountedSample[]): CountedSample {
  const count = parts.reduce((all, part) => all + part.count, 0)
  const sample = [...new Set(parts.flatMap((part) => part.sample))]
  return { count, sample: sample.slice(0, 20) }
}

/** Calls one after the other. An error states how many were revoked; it is safe to repeat the command. */
async function revokeAll(
  context: CommandContext,
  connection: Connection,
  { ids, parts, reason, onlyThis }: Plan,
): Promise<RevocationResult> {
  const nothing: RevocationResult = {
    crl_sequence: 0,
    revoked_count: 0,
    also_revoked: { count: 0, sample: [] },
    other_certificates: { count: 0, sample: [] },
  }
  const rules = new Set<string>()
  const also: CountedSample[] = []
  let [result, done] = [nothing, 0]
  for (const part of parts) {
    const revoke = (client: Client): Promise<RevocationResult> =>
      client.crl.revoke({ ...part, reason, only_this: onlyThis })
    result = await connection.ask(revoke).catch((error: unknown) => {
      throw done === 0 ? error : toPartial(error, done, ids.length)
    })
    also.push(result.also_revoked)
    for (const rule of result.admission_rules ?? []) rules.add(rule)
    done += (part.certificates ?? part.cert_ids).length
    if (parts.length > 1) context.note(`${done} of ${ids.length} certificates are revoked`)
  }
  return {
    ...result,
    also_revoked: sum(also),
    ...(rules.size === 0 ? {} : { admission_rules: [...rules] }),
  }
}

function toPartial(error: unknown, done: number, all: number): CommandError {
  const { code, message, hint } = explain(error)
  const text = `${done} of ${all} certificates are revoked; then: ${message}`
  return new CommandError({ code, message: text, hint: hint ?? 'Run the same command again.' }, { cause: error })
}

function counted(count: number): string {
  return `${count} certificate${count === 1 ? '' : 's'}`
}

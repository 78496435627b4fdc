import { sovereign } from '@chancery/contract'
import { type Instant, type JoinCertificate, instantOf } from '@chancery/protocol'
import { UsageError } from '@chancery/sdk'
import type { CrlEntry, FailedAction, NodeEvent, RefusedList } from '@chancery/sdk'
import { openNode, routeApi } from '@chancery/sdk/internal'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { CommandError } from '../../errors/failure.ts'
import {
  connectAsNode,
  findCertificateProblem,
  loadCertificate,
  requireOwnCertificate,
} from '../../connection/node-folder.ts'
import type { Expected } from '../../connection/node-folder.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { storedEvidence } from '../../connection/evidence.ts'
import { preferMemory } from '../../process.ts'
import { type Report, reporter } from '../../output/events.ts'
import { HomeStore } from './status.ts'
import { describeSpan } from '../../output/durations.ts'
import { explain } from '../../errors/explain.ts'

type EventOf<Type extends NodeEvent['type']> = Extract<NodeEvent, { readonly type: Type }>

/** What a report is about: where the authority is, and how long the certificate lasts. */
interface Facts {
  readonly url: string
  readonly certId: () => string
  readonly timeLeft: () => bigint
}

/** Reports an event of a running node as text and as a JSON line. */
function reportEvent(event: NodeEvent, report: Report, facts: Facts): void {
  switch (event.type) {
    case 'started':
    case 'replaced':
    case 'renewed':
    case 'rejoined':
    case 'presented':
      return reportCertificate(event, report, facts.url)
    case 'heartbeat': {
      const { server_time, crl_sequence, policy_id } = event.response
      const next = event.nextSeconds
      const more = { cert_id: facts.certId(), server_time, next_heartbeat_seconds: next, crl_sequence, policy_id }
      return report({ event: 'heartbeat', facts: more, text: `heartbeat acknowledged, next in ${next} s` })
    }
    case 'list_refused':
      return reportRefusedList(event, report)
    case 'failed':
      return reportFailure(event, report, facts.timeLeft)
    case 'registered':
      return undefined
    default:
      return reportDocument(event, report)
  }
}

function reportCertificate(
  event: EventOf<'started' | 'replaced' | 'renewed' | 'rejoined' | 'presented'>,
  report: Report,
  url: string,
): void {
  const { cert_id, expires_at } = event.certificate
  if (event.type === 'started') {
    const text = `running with certificate ${cert_id}, valid until ${expires_at}`
    return report({ event: 'started', facts: { cert_id, expires_at, url }, text })
  }
  if (event.type === 'replaced') {
    const text = `the certificate on the disk is now ${cert_id}`
    return report({ event: 'certificate', facts: { cert_id, expires_at }, text })
  }
  if (event.type === 'presented') {
    const text = `the authority does not have certificate ${cert_id}, as after a restore: it was presented, an operator must adopt it`
    return report({ event: 'presented', facts: { cert_id }, text, tone: 'warn' })
  }
  const { type, replaces } = event
  const done = type === 'renewed' ? 'renewed' : 'joined again with the expired certificate'
  const text = `${done}: ${cert_id}, valid until ${expires_at}`
  report({ event: type, facts: { cert_id, expires_at, replaces }, text, tone: 'good' })
}

/** Lists, policies and keys of the authority, and the clock of this machine. */
function reportDocument(
  event: EventOf<'revocations' | 'policy' | 'clock' | 'keys' | 'keys_refused'>,
  report: Report,
): void {
  if (event.type === 'revocations') {
    const { count, list } = event
    const text = `revocation list ${list.sequence} with ${count} ${count === 1 ? 'entry' : 'entries'}`
    return report({ event: 'crl', facts: { crl_sequence: list.sequence, revoked_count: count }, text })
  }
  if (event.type === 'policy') {
    const { policy_id } = event.policy
    return report({ event: 'policy', facts: { policy_id }, text: `policy ${policy_id}` })
  }
  if (event.type === 'clock') {
    const seconds = Math.round(event.offsetSeconds)
    const text = `the clock of this machine is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} the authority: correct the clock`
    return report({ event: 'clock', facts: { offset_seconds: seconds }, text, tone: 'warn' })
  }
  if (event.type === 'keys') {
    const { digest } = event
    const text = `the root named another authority key: block sha256:${digest} is saved`
    return report({ event: 'followed', facts: { genesis_digest: digest }, text, tone: 'good' })
  }
  const { reason } = event
  const text = `the authority offers a block that the root did not sign (${reason}): inform its operator`
  report({ event: 'unfollowed', facts: { code: reason }, text, tone: 'bad' })
}

function reportRefusedList({ list, reason, offered, stored }: RefusedList, report: Report): void {
  const name = list === 'crl' ? 'revocation list' : 'policy'
  const numbers = { crl_sequence: offered, held_sequence: stored }
  if (reason === 'rollback') {
    const text = `the authority offers revocation list ${offered}, but list ${stored} is stored: inform its operator`
    report({ event: 'list_refused', facts: { list, code: 'lower_sequence', ...numbers }, text, tone: 'bad' })
    return
  }
  const message = {
    not_signed: 'the authority of the genesis block did not sign it',
    equivocation: `sequence ${offered} was received before with another content`,
    other_issuer: 'it names another issuer',
  }[reason]
  const facts = { list, code: 'unusable_list', message, ...numbers }
  report({ event: 'list_refused', facts, text: `the ${name} is not taken: ${message}`, tone: 'bad' })
}

function reportFailure(failed: FailedAction, report: Report, timeLeft: () => bigint): void {
  const { action, error, retryInSeconds, failures } = failed
  const { code, message } = explain(error)
  if (action === 'revocations' || action === 'policy') {
    const list = action === 'policy' ? 'policy' : 'crl'
    const text = `could not fetch the ${list}: ${message}`
    report({ event: 'list_failed', facts: { list, code, message }, text, tone: 'warn' })
    return
  }
  if (action === 'save') {
    const text = `the new certificate is not on the disk yet: ${message} Do not stop this process`
    report({ event: 'failed', facts: { action, code, message }, text, tone: 'bad' })
    return
  }
  const seconds = Math.ceil(retryInSeconds)
  const left = action === 'renew' ? describeLeft(timeLeft()) : ''
  const text = `${action} failed: ${message} Trying again in ${seconds} s${left}`
  const facts = { action, code, message, retry_in_seconds: seconds, failures }
  report({ event: 'failed', facts, text, tone: 'warn' })
}

function describeLeft(left: bigint): string {
  return left > 0n ? `; ${describeSpan(left)} are left` : '; it has expired'
}

/** Runs `node run` until it is stopped, or until a retry cannot succeed. */
export async function runNodeRun(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  if (options.isSet('once')) return (await import('./heartbeat.ts')).sendHeartbeat(context, options)
  if (options.isSet('detach')) return startDetached(context, options)
  // It sends a few requests a minute, and runs on each machine.
  preferMemory(true)
  const connection = await connectAsNode(context, options)
  const { url, genesis, followed, files, signer } = connection
  const certificate = await loadCertificate(files)
  const expected = (): Expected => ({ keys: followed.keys, publicKey: signer.publicKey, now: context.now() })
  // The certificate may be of a key that the root named after the block was saved.
  if ((await findCertificateProblem(certificate, expected())) !== undefined)
    await followed.follow({ sovereign: routeApi(sovereign, connection.link()) }).catch(() => 'unchanged')
  // An expired one may admit the node again, by its evidence or by a rule of the authority.
  const left = await findCertificateProblem(certificate, expected())
  if (left !== undefined && !isExpired(certificate, context.now())) await requireOwnCertificate(certificate, expected())
  const [report, stop] = [reporter(context), context.stop()]
  const evidence = storedEvidence(context, connection.config)
  const node = await openNode({
    url,
    genesis,
    store: new HomeStore(files, signer),
    clock: context.now,
    random: context.random,
    ...(evidence === undefined ? {} : { platform: evidence }),
    sleep: (ms, signal) => context.sleep(ms, signal ?? stop),
  }).catch(async (error: unknown) => {
    // No rule admits it again, and there is nothing else to join with.
    if (error instanceof UsageError) await requireOwnCertificate(certificate, expected())
    throw error
  })
  const timeLeft = (): bigint => instantOf(node.certificate.expires_at) - context.now()
  const facts = { url, certId: () => node.certificate.cert_id, timeLeft }
  const end = await node.run({
    status: options.textOrDefault('status'),
    followRevocations: options.isSet('crl'),
    signal: stop,
    onEvent: (event) => reportEvent(event, report, facts),
  })
  if (end.reason === 'revoked' && end.error.entry !== undefined) throw toFailure(end.error.entry)
  if (end.reason !== 'stopped') throw end.error
  report({ event: 'stopped', text: 'stopped by a signal' })
  return {}
}

/** Starts this command again as a process that continues. */
async function startDetached(context: CommandContext, options: Options): Promise<Result> {
  const { config } = await connectAsNode(context, options)
  const folder = config.paths.home ?? context.cwd
  const { startFolder } = await import('../up/services.ts')
  return startFolder(context, { kind: 'node', settings: folder })
}

/** By the clock of this machine; the authority decides by its own. */
function isExpired({ expires_at }: JoinCertificate, now: Instant): boolean {
  return instantOf(expires_at) <= now
}

function toFailure(entry: CrlEntry): CommandError {
  return new CommandError({
    code: 'certificate_revoked',
    message: `The revocation list names this certificate (${entry.reason}, ${entry.revoked_at}).`,
    hint: 'Find out why, then ask an operator for a new invite and join again.',
  })
}

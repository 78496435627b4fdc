import { sovereign } from '@chancery/contract'
import { type Instant, type JoinCertificate, instantOf } from '@chancery/protocol'
import { type CrlEntry, Node, RequestError, RevokedError, nodeAreas, routeApi } from '@chancery/sdk'
import type { NodeAreas, NodeEvents, RefusedList } from '@chancery/sdk'
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

/** It opens only the areas of a node, so that no others are loaded. */
type RunningNode = Node<NodeAreas>

/** Reports the events of a running node as text and as JSON lines. */
function reportNodeEvents(node: RunningNode, report: Report, { url, now }: { url: string; now: () => Instant }): void {
  reportCertificates(node, report, url)
  reportDocuments(node, report)
  node.on('listRefused', (refused) => reportRefusedList(refused, report))
  node.on('actionFailed', (failed) =>
    reportFailure(failed, report, () => instantOf(node.certificate.expires_at) - now()),
  )
}

function reportCertificates(node: RunningNode, report: Report, url: string): void {
  node.on('started', ({ certificate: { cert_id, expires_at } }) => {
    const text = `running with certificate ${cert_id}, valid until ${expires_at}`
    report({ event: 'started', facts: { cert_id, expires_at, url }, text })
  })
  node.on('certificateReplaced', ({ certificate: { cert_id, expires_at } }) =>
    report({
      event: 'certificate',
      facts: { cert_id, expires_at },
      text: `the certificate on the disk is now ${cert_id}`,
    }),
  )
  node.on('heartbeat', ({ response: { server_time, crl_sequence, policy_id }, nextSeconds }) => {
    const { cert_id } = node.certificate
    const facts = { cert_id, server_time, next_heartbeat_seconds: nextSeconds, crl_sequence, policy_id }
    report({ event: 'heartbeat', facts, text: `node run --once acknowledged, next in ${nextSeconds} s` })
  })
  node.on('renewed', ({ certificate: { cert_id, expires_at }, replaces }) => {
    const text = `renewed: ${cert_id}, valid until ${expires_at}`
    report({ event: 'renewed', facts: { cert_id, expires_at, replaces }, text, tone: 'good' })
  })
  node.on('rejoined', ({ certificate: { cert_id, expires_at }, replaces }) => {
    const text = `joined again with the expired certificate: ${cert_id}, valid until ${expires_at}`
    report({ event: 'rejoined', facts: { cert_id, expires_at, replaces }, text, tone: 'good' })
  })
  node.on('presented', ({ certificate: { cert_id } }) =>
    report({
      event: 'presented',
      facts: { cert_id },
      text: `the authority does not have certificate ${cert_id}, as after a restore: it was presented, an operator must adopt it`,
      tone: 'warn',
    }),
  )
}

/** Lists, policies and keys of the authority, and the clock of this machine. */
function reportDocuments(node: RunningNode, report: Report): void {
  node.on('crl', ({ crl: { sequence }, count }) => {
    const text = `revocation list ${sequence} with ${count} ${count === 1 ? 'entry' : 'entries'}`
    report({ event: 'crl', facts: { crl_sequence: sequence, revoked_count: count }, text })
  })
  node.on('policy', ({ policy: { policy_id } }) =>
    report({ event: 'policy', facts: { policy_id }, text: `policy ${policy_id}` }),
  )
  node.on('clock', ({ offsetSeconds }) => {
    const seconds = Math.round(offsetSeconds)
    const text = `the clock of this machine is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} the authority: correct the clock`
    report({ event: 'clock', facts: { offset_seconds: seconds }, text, tone: 'warn' })
  })
  node.on('followed', ({ digest }) =>
    report({
      event: 'followed',
      facts: { genesis_digest: digest },
      text: `the root named another authority key: block sha256:${digest} is saved`,
      tone: 'good',
    }),
  )
  node.on('unfollowed', ({ reason }) =>
    report({
      event: 'unfollowed',
      facts: { code: reason },
      text: `the authority offers a block that the root did not sign (${reason}): inform its operator`,
      tone: 'bad',
    }),
  )
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

function reportFailure(failed: NodeEvents['actionFailed'], report: Report, timeLeft: () => bigint): void {
  const { action, error, retryInSeconds, failures } = failed
  const { code, message } = explain(error)
  if (action === 'crl' || action === 'policy') {
    const text = `could not fetch the ${action}: ${message}`
    report({ event: 'list_failed', facts: { list: action, code, message }, text, tone: 'warn' })
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
  const node = await Node.joinWith(
    {
      url,
      genesis,
      store: new HomeStore(files, signer),
      status: options.textOrDefault('status'),
      followCrl: options.isSet('crl'),
      clock: context.now,
      random: context.random,
      ...(evidence === undefined ? {} : { evidence }),
      sleep: (ms, signal) => context.sleep(ms, signal ?? stop),
    },
    nodeAreas,
  ).catch(async (error: unknown) => {
    // No rule admits it again, and there is nothing else to join with.
    if (error instanceof RequestError) await requireOwnCertificate(certificate, expected())
    throw error
  })
  reportNodeEvents(node, report, { url, now: context.now })
  const end = (): void => void node.stop()
  stop.addEventListener('abort', end, { once: true })
  if (stop.aborted) end()
  const error = await node.ended
  stop.removeEventListener('abort', end)
  if (error instanceof RevokedError && error.entry !== undefined) throw toFailure(error.entry)
  if (error !== undefined) throw error
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

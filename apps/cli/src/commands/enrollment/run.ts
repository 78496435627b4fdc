import { type Instant, type JoinCertificate, instantOf } from '@chancery/protocol'
import { type CrlEntry, Node, RequestError, RevokedError } from '@chancery/sdk'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { CommandError } from '../../errors/failure.ts'
import {
  connectAsNode,
  loadCertificate,
  requireOwnCertificate,
  findCertificateProblem,
} from '../../connection/node-folder.ts'
import type { Expected } from '../../connection/node-folder.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { storedEvidence } from '../../connection/evidence.ts'
import { preferMemory } from '../../process.ts'
import { reporter } from '../../output/events.ts'
import { HomeStore } from './folder-store.ts'
import { reportNodeEvents } from './report-events.ts'

/** Runs `node run` until it is stopped, or until a retry cannot succeed. */
export async function runNodeRun(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  // It sends a few requests a minute, and runs on each machine.
  preferMemory(true)
  const connection = await connectAsNode(context, options)
  const { url, genesis, followed, files, signer } = connection
  const certificate = await loadCertificate(files)
  const expected = (): Expected => ({ keys: followed.keys, publicKey: signer.publicKey, now: context.now() })
  // The certificate may be of a key that the root named after the block was saved.
  if ((await findCertificateProblem(certificate, expected())) !== undefined)
    await followed.follow(connection.client()).catch(() => 'unchanged')
  // An expired one may admit the node again, by its evidence or by a rule of the authority.
  const left = await findCertificateProblem(certificate, expected())
  if (left !== undefined && !isExpired(certificate, context.now())) await requireOwnCertificate(certificate, expected())
  const [report, stop] = [reporter(context), context.stop()]
  const evidence = storedEvidence(context, connection.config)
  const node = await Node.join({
    url,
    genesis,
    store: new HomeStore(files, signer),
    status: options.textOrDefault('status'),
    followCrl: options.isSet('crl'),
    clock: context.now,
    random: context.random,
    ...(evidence === undefined ? {} : { evidence }),
    sleep: (ms, signal) => context.sleep(ms, signal ?? stop),
  }).catch(async (error: unknown) => {
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

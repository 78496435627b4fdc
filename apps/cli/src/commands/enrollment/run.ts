import { Node, RevokedError } from '@chancery/sdk'
import type { CommandContext, Result } from '../../context.ts'
import { Failure } from '../../failure.ts'
import { connectAsNode, loadCertificate, requireOurs, whyNotOurs } from '../../node-home.ts'
import type { Expected } from '../../node-home.ts'
import type { Arguments, Options } from '../../options.ts'
import { reporter } from '../../output/events.ts'
import { HomeStore } from './home-store.ts'
import { tellNode } from './tell-node.ts'

/** node run: stays until it is told to stop, or until nothing it could do would help. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsNode(context, options)
  const { url, genesis, followed, files, signer } = connection
  const certificate = await loadCertificate(files)
  const expected = (): Expected => ({ keys: followed.keys, publicKey: signer.publicKey, now: context.now() })
  // It may be of a key that the root has named since the block was kept.
  if ((await whyNotOurs(certificate, expected())) !== undefined)
    await followed.follow(connection.client()).catch(() => 'unchanged')
  await requireOurs(certificate, expected())
  const [report, stop] = [reporter(context), context.stop()]
  const node = await Node.join({
    url,
    genesis,
    store: new HomeStore(files, signer),
    status: options.textOrDefault('status'),
    clock: context.now,
    random: context.random,
    sleep: (ms, signal) => context.sleep(ms, signal ?? stop),
  })
  tellNode(node, report, { url, now: context.now })
  const end = (): void => void node.stop()
  stop.addEventListener('abort', end, { once: true })
  if (stop.aborted) end()
  const error = await node.ended
  stop.removeEventListener('abort', end)
  if (error !== undefined) throw error instanceof RevokedError ? toFailure(error) : error
  report({ event: 'stopped', text: 'told to stop' })
  return {}
}

function toFailure({ entry }: RevokedError): Failure {
  return new Failure({
    code: 'certificate_revoked',
    message: `The revocation list names this certificate (${entry.reason}, ${entry.revoked_at}).`,
    hint: 'Find out why, then ask an operator for a new invite and join again.',
  })
}

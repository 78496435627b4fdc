import { freshEvidence, schedule } from '@chancery/sdk'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { typed } from '../../files/files.ts'
import {
  connectAsNode,
  storeCertificate,
  loadCertificate,
  requireOwnCertificate,
  findCertificateProblem,
} from '../../connection/node-folder.ts'
import type { Expected } from '../../connection/node-folder.ts'
import { storedEvidence } from '../../connection/evidence.ts'
import { wholeNumber } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { fields } from '../../output/table.ts'

/** Runs `renew`: the old certificate stays valid for a grace period, so nothing is interrupted. */
export async function runRenew(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const asked = wholeNumber(options, 'validity-hours', 1, Number.MAX_SAFE_INTEGER)
  const connection = await connectAsNode(context, options)
  const { files, followed, signer } = connection
  const old = await loadCertificate(files)
  const source = storedEvidence(context, connection.config)
  const evidence = source && (await freshEvidence(source, followed.audience, signer.publicKey))
  const request = {
    cert_id: old.cert_id,
    validity_hours: asked ?? schedule.lifetimeHours(old),
    ...(evidence === undefined ? {} : { evidence }),
  }
  const certificate = await connection.ask((client) => client.enrollment.renew(request))
  const expected = (): Expected => ({ keys: followed.keys, publicKey: signer.publicKey, now: context.now() })
  // The certificate may be of a key that the root has named since.
  if ((await findCertificateProblem(certificate, expected())) !== undefined)
    await connection.ask((client) => followed.follow(client)).catch(() => 'unchanged')
  await requireOwnCertificate(certificate, expected())
  await storeCertificate(files, certificate)
  const rows = fields(
    [
      ['certificate', certificate.cert_id],
      ['roles', certificate.roles.join(', ')],
      ['valid until', certificate.expires_at],
      ['replaces', `${old.cert_id} (runs out by itself)`],
      ['saved in', typed(context.cwd, files.certificate)],
    ],
    context.style,
  )
  const data = { certificate, replaces: old.cert_id }
  return { data, ids: [certificate.cert_id], text: `${context.style.good('Renewed')} the certificate.\n${rows}` }
}

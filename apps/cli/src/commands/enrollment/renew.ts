import { schedule } from '@chancery/sdk'
import type { CommandContext, Result } from '../../context.ts'
import { typed } from '../../files.ts'
import { connectAsNode, keepCertificate, loadCertificate, requireOurs, whyNotOurs } from '../../node-home.ts'
import type { Expected } from '../../node-home.ts'
import { wholeNumber } from '../../numbers.ts'
import type { Arguments, Options } from '../../options.ts'
import { fields } from '../../output/table.ts'

/** renew: the old certificate works a little longer, so nothing breaks while the new one spreads. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const asked = wholeNumber(options, 'validity-hours', 1, Number.MAX_SAFE_INTEGER)
  const connection = await connectAsNode(context, options)
  const { files, followed, signer } = connection
  const old = await loadCertificate(files)
  const request = { cert_id: old.cert_id, validity_hours: asked ?? schedule.lifeHours(old) }
  const certificate = await connection.ask((client) => client.enrollment.renew(request))
  const expected = (): Expected => ({ keys: followed.keys, publicKey: signer.publicKey, now: context.now() })
  // It may be of a key that the root has named meanwhile.
  if ((await whyNotOurs(certificate, expected())) !== undefined)
    await connection.ask((client) => followed.follow(client)).catch(() => 'unchanged')
  await requireOurs(certificate, expected())
  await keepCertificate(files, certificate)
  const rows = fields(
    [
      ['certificate', certificate.cert_id],
      ['roles', certificate.roles.join(', ')],
      ['valid until', certificate.expires_at],
      ['replaces', `${old.cert_id} (runs out by itself)`],
      ['kept in', typed(context.cwd, files.certificate)],
    ],
    context.style,
  )
  const data = { certificate, replaces: old.cert_id }
  return { data, text: `${context.style.good('Renewed')} the certificate.\n${rows}` }
}

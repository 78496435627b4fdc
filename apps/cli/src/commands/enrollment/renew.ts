import type { Roster } from '@chancery/sdk/authority'
import { freshEvidence, schedule } from '@chancery/sdk/internal'
import type { CommandContext } from '../../context.ts'
import { type Result, type Style, fields, table } from '../../output/screen.ts'
import { typed } from '../../files/files.ts'
import {
  connectAsNode,
  findCertificateProblem,
  loadCertificate,
  requireOwnCertificate,
  storeCertificate,
} from '../../connection/node-folder.ts'
import type { Expected } from '../../connection/node-folder.ts'
import { storedEvidence } from '../../connection/evidence.ts'
import { timeSpan } from '../../arguments/time-span.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { visible } from '@chancery/protocol'
import { connect, connectAsOperator, hasOperatorKey } from '../../connection/connection.ts'
import { listCertificates } from './certs.ts'

/** Runs `node list`: the active nodes, or their number, which is public. */
export async function runNodeList(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const ofCertificates = ['certificates', 'state', 'label', 'node', 'role', 'expires-before', 'limit', 'all']
  if (ofCertificates.some((name) => options.isSet(name))) return listCertificates(context, options)
  if (await hasOperatorKey(context, options)) {
    const connection = await connectAsOperator(context, options)
    const roster = await connection.ask((client) => client.enrollment.roster())
    return {
      data: { count: roster.count, nodes: roster.nodes },
      ids: Object.keys(roster.nodes),
      text: describe(roster, context.style),
    }
  }
  const connection = await connect(context, options)
  const { count } = await connection.ask((client) => client.enrollment.nodes())
  return { data: { count }, text: countText(count) }
}

function describe({ count, nodes }: Roster, style: Style): string {
  if (count === 0) return countText(count)
  const rows = Object.entries(nodes).map(([certId, node]) => [
    certId,
    node.status,
    visible(node.label ?? '-'),
    node.last_heartbeat,
    node.roles.join(','),
    node.expires_at,
    node.remote_addr,
    node.node_public_key,
  ])
  const head = ['CERTIFICATE', 'STATUS', 'LABEL', 'LAST HEARTBEAT', 'ROLES', 'EXPIRES', 'ADDRESS', 'NODE KEY']
  return `${table(head, rows, style)}\n\n${countText(count)}`
}

function countText(count: number): string {
  return `${count} active node${count === 1 ? '' : 's'}.`
}

/** Runs `node renew`: the old certificate stays valid for a grace period, so nothing is interrupted. */
export async function runRenew(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const asked = timeSpan(options, 'valid-for', { unit: 'h', min: 1, max: Number.MAX_SAFE_INTEGER })
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

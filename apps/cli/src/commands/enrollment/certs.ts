import { asJson, canonicalJson, visible } from '@chancery/protocol'
import type { CertificateFilter, Client, IssuedCertificate } from '@chancery/sdk/authority'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, cutText, fields, table } from '../../output/screen.ts'
import { usageError } from '../../errors/failure.ts'
import { loadNodeKey } from '../../files/keys.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'

/** Runs `node label`: names a node key for operators. */
export async function runNodeLabel(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const key = await loadNodeKey(context.cwd, 'The node', args.required('node'))
  const [given] = args.list('label')
  if ((given === undefined) !== options.isSet('remove')) throw usageError('Give a label, or --remove.')
  const connection = await connectAsOperator(context, options)
  const { node_public_key, label } = await connection.ask((client) =>
    client.enrollment.labelNode({ node_public_key: key, label: given ?? null }),
  )
  const done = label === null ? 'Removed' : 'Set'
  const what = label === null ? 'the label' : `the label ${visible(label)}`
  return {
    data: { node_public_key, label },
    ids: [node_public_key],
    text: `${context.style.good(done)} ${what} of ${node_public_key}.`,
  }
}

interface Found {
  readonly rows: readonly IssuedCertificate[]
  readonly total: number | null
  readonly isCut: boolean
}

/** `node list --certificates`: issued certificates, newest first. */
export async function listCertificates(context: CommandContext, options: Options): Promise<Result> {
  const limit = wholeNumberOrDefault(options, 'limit', 1, 1000)
  if (options.isSet('all') && options.isSet('limit')) throw usageError('Give --all or --limit, not both.')
  const filter = await readFilter(context.cwd, options)
  const connection = await connectAsOperator(context, options)
  const most = options.isSet('all') ? Number.POSITIVE_INFINITY : limit
  return describe(context, await connection.ask((client) => fetchRows(client, filter, most)))
}

async function readFilter(cwd: string, options: Options): Promise<CertificateFilter> {
  const [state, label, key] = [options.text('state'), options.text('label'), options.text('node')]
  const [role, expires_before] = [options.text('role'), options.text('expires-before')]
  return {
    ...(state === undefined ? {} : { state: state as NonNullable<CertificateFilter['state']> }),
    ...(label === undefined ? {} : { label }),
    ...(key === undefined ? {} : { node_public_key: await loadNodeKey(cwd, '--node', key) }),
    ...(role === undefined ? {} : { role }),
    ...(expires_before === undefined ? {} : { expires_before }),
  }
}

/** A page may have fewer rows than its limit, so the cursor says whether there are more. */
async function fetchRows(client: Client, filter: CertificateFilter, most: number): Promise<Found> {
  const rows: IssuedCertificate[] = []
  let total: number | null = null
  for (let cursor: string | undefined; ;) {
    const bounds = { limit: Math.min(1000, most - rows.length), ...(cursor === undefined ? {} : { cursor }) }
    const page = await client.enrollment.certificates({ ...filter, ...bounds })
    if (cursor === undefined) total = page.total ?? null
    rows.push(...page.certificates)
    const next = page.next_cursor ?? undefined
    if (next === undefined) return { rows, total: rows.length, isCut: false }
    if (rows.length >= most || next === cursor) return { rows, total, isCut: true }
    cursor = next
  }
}

function describe({ style }: CommandContext, { rows, total, isCut }: Found): Result {
  const data = { count: rows.length, total, certificates: rows }
  if (rows.length === 0) return { data, text: 'No certificate.', ids: [] }
  const lines = rows.map((row) =>
    [
      row.cert_id,
      row.state,
      row.label ?? '-',
      row.roles.join(','),
      row.issued_at,
      row.expires_at,
      row.last_heartbeat ?? '-',
      row.node_public_key,
    ].map((text) => visible(text)),
  )
  const head = ['CERTIFICATE', 'STATE', 'LABEL', 'ROLES', 'ISSUED', 'EXPIRES', 'LAST HEARTBEAT', 'NODE KEY']
  const number = `${rows.length} certificate${rows.length === 1 ? '' : 's'}.`
  const text = `${table(head, lines, style)}\n\n${number}${cutText(isCut, rows.length, total)}`
  return { data, ids: rows.map((row) => row.cert_id), text }
}

/** Runs `node show`: everything about one node. */
export async function runNodeShow(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const key = await loadNodeKey(context.cwd, 'The node', args.required('node'))
  const connection = await connectAsOperator(context, options)
  const node = await connection.ask((client) => client.roster.find(key))
  const rows = Object.entries(asJson(node)).map(([name, value]): [string, string] => [
    name.replaceAll('_', ' '),
    typeof value === 'string' ? value : value === null ? '-' : canonicalJson(value),
  ])
  return { data: asJson(node), ids: [key], text: fields(rows, context.style) }
}

import {
  type ApprovalRequest,
  type ApprovalStatement,
  type JsonValue,
  approvalRequestForm,
  asJson,
  asReceived,
  canonicalJson,
  receivedDigest,
  verifyReceived,
} from '@chancery/protocol'
import { type Approval, type ListedApproval, signApproval } from '@chancery/sdk/authority'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Connection, connectAsOperator, connectWithOperator, signersAt } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { type Result, type Style, fields, plural, table } from '../../output/screen.ts'
import { requireConsent } from '../../prompts/preview.ts'

const PAGE = 1000

/** Runs `approval list`. */
export async function runApprovalList(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const limit = wholeNumberOrDefault(options, 'limit', 1, PAGE)
  if (options.isSet('all') && options.isSet('limit')) throw usageError('Give --all or --limit, not both.')
  const state = options.text('state') as ListedApproval['state'] | 'all' | undefined
  const filter = state === undefined ? {} : { state }
  const connection = await connectAsOperator(context, options)
  const { rows, isCut } = await connection.ask(async ({ approvals }) => {
    const found: ListedApproval[] = []
    let cursor: string | null = null
    do {
      const page = { ...filter, limit: options.isSet('all') ? PAGE : limit, ...(cursor === null ? {} : { cursor }) }
      const listed: Awaited<ReturnType<typeof approvals.list>> = await approvals.list(page)
      found.push(...listed.approvals)
      cursor = listed.next_cursor
    } while (cursor !== null && options.isSet('all'))
    return { rows: found, isCut: cursor !== null }
  })
  const data = { count: rows.length, approvals: rows }
  if (rows.length === 0) return { data, ids: [], text: 'No approval.' }
  const lines = rows.map((row) => [
    row.approval_id,
    row.state,
    `${row.given}/${row.needed}`,
    row.requested_capability,
    row.subject_id ?? row.requester_sovereign_id,
    row.titles.join(', '),
    row.expires_at,
  ])
  const head = ['APPROVAL', 'STATE', 'GIVEN', 'CAPABILITY', 'FOR', 'TITLE', 'UNTIL']
  const more = isCut ? '\nThere are more. Add --all or --limit.' : ''
  return {
    data,
    ids: rows.map(({ approval_id }) => approval_id),
    text: `${table(head, lines, context.style)}\n\n${plural(rows.length, 'approval')}.${more}`,
  }
}

/** Runs `approval show`. */
export async function runApprovalShow(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsOperator(context, options)
  const { approval, context: asked } = await connection.ask(({ approvals }) =>
    approvals.find(args.required('approval_id')),
  )
  await requireGenuine(connection, approval)
  return {
    data: { approval: asJson(approval), context: asked === null ? null : asJson(asked) },
    ids: [approval.approval_id],
    text: describeApproval(approval, context.style),
  }
}

/** Runs `approval approve`: shows everything that is approved, and asks. */
export async function runApprovalApprove(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const digest = options.text('digest')
  if (options.isSet('yes') && digest === undefined)
    throw usageError(
      '--yes needs --digest, so that nothing is approved that was not reviewed.',
      'approval show prints it.',
    )
  return answer(context, args, options, { verdict: 'approve', digest })
}

/** Runs `approval deny`. */
export async function runApprovalDeny(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  return answer(context, args, options, { verdict: 'deny', digest: undefined })
}

async function answer(
  context: CommandContext,
  args: Arguments,
  options: Options,
  given: { readonly verdict: ApprovalStatement['verdict']; readonly digest: string | undefined },
): Promise<Result> {
  const { style } = context
  const { verdict, digest } = given
  const id = args.required('approval_id')
  const { connection, signer } = await connectWithOperator(context, options)
  const { approval } = await connection.ask(({ approvals }) => approvals.find(id))
  await requireGenuine(connection, approval)
  if (digest !== undefined && digest !== approval.approval_request_digest)
    throw new CommandError({
      code: 'other_request',
      message: 'The approval has another request than the one that was reviewed. Nothing was signed.',
      hint: 'Review it: chancery approval show <approval_id>',
    })
  if (!options.isSet('yes')) context.stderr.write(`${describeApproval(approval, style)}\n\n`)
  await requireConsent(context, options, verdict === 'approve' ? 'Approve exactly this request?' : 'Deny this request?')
  const reason = options.text('reason')
  const { operator_sovereign_id: sovereign_id } = approval.approval_request
  const statement = await signApproval(approval.approval_request, signer, {
    verdict,
    approver: { kind: 'operator', id: signer.keyId, sovereign_id },
    now: context.now(),
    ...(reason === undefined ? {} : { reason }),
  })
  const done = await connection.ask(({ approvals }) =>
    verdict === 'approve' ? approvals.approve(id, { statement }) : approvals.deny(id, { statement }),
  )
  return {
    data: { approval: asJson(done.approval) },
    ids: [id],
    text: resultText(done.approval, style),
  }
}

function resultText({ approval_id, state, use_until, needed }: Approval, style: Style): string {
  if (state === 'denied') return `${style.bad('Denied')} ${approval_id}.`
  if (state === 'approved')
    return `${style.good('Approved')} ${approval_id}. It can be used once, until ${use_until ?? '-'}.`
  const left = needed.reduce((sum, { count, given }) => sum + count - given, 0)
  return `${style.good('Your approval is stored.')} ${approval_id} needs ${left} more.`
}

/** What is approved must be what the authority signed, and its digest that of exactly this text. */
async function requireGenuine(connection: Connection, approval: Approval): Promise<void> {
  const { approval_request: request, approval_request_digest: digest } = approval
  const received = asReceived(approvalRequestForm, request)
  const keys = signersAt(connection, request)
  const isSigned = keys === undefined || (await verifyReceived(received, keys)).ok
  if (isSigned && receivedDigest(received) === digest) return
  throw new CommandError({
    code: 'invalid_signature',
    message: 'The request is not signed by the authority of this network. Do not approve it.',
  })
}

/** Texts of a caller are in quotes, so that none of them looks like a line of this program. */
function describeApproval(approval: Approval, style: Style): string {
  const { approval_request: request, needed } = approval
  return [
    fields(approvalRows(approval), style),
    '',
    style.title('Values of the request, as its caller sent them'),
    ...(request.shown.length === 0 ? ['none'] : [shownTable(request, style)]),
    ...(request.shown_complete
      ? []
      : [style.warn('This is not everything: a value was left out, cut, or is not bound.')]),
    ...(request.budgets.length === 0 ? [] : ['', style.title('Budgets'), budgetTable(request, style)]),
    '',
    style.title('Needed'),
    table(
      ['POLICY', 'GATE', 'WHO', 'GIVEN'],
      needed.map(({ policy_id, gate_id, kind, count, given }) => [policy_id, gate_id, kind, `${given}/${count}`]),
      style,
    ),
  ].join('\n')
}

function approvalRows({ approval_id, state, approval_request: request, approval_request_digest, use_until }: Approval) {
  const { asker, issuer_sovereign_id, subject_id } = request
  const rows: (readonly [string, string])[] = [
    ['approval', approval_id],
    ['title', [...new Set(request.requirements.map(({ title }) => title))].join(', ')],
    ['state', state],
    ['capability', quoted(request.requested_capability)],
    ['asked by', `${asker.kind} ${asker.id}`],
    ['for', subject_id === null ? '-' : `${quoted(subject_id)} of ${issuer_sovereign_id ?? '-'}`],
    ['requester', request.requester_sovereign_id],
    ['resource', request.resource_id === null ? '-' : quoted(request.resource_id)],
    ['opened', request.opened_at],
    ['until', use_until ?? request.expires_at],
    ['digest', approval_request_digest],
  ]
  return rows
}

function shownTable({ shown }: ApprovalRequest, style: Style): string {
  const lines = shown.map(({ path, value, cut }) => [quoted(path), quoted(value), cut ? 'cut' : ''])
  return table(['PATH', 'VALUE', ''], lines, style)
}

function budgetTable({ budgets }: ApprovalRequest, style: Style): string {
  const lines = budgets.map(({ source, unit, asked, remaining }) => [source, unit ?? '-', asked, remaining])
  return table(['BUDGET', 'UNIT', 'ASKED', 'LEFT AFTER'], lines, style)
}

function quoted(value: JsonValue): string {
  return canonicalJson(value)
}

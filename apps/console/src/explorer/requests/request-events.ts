import { GATEWAY_ROUTES } from '@chancery/contract'
import { type Reply, isSuccess, sendRequest } from './send-request.ts'

/** One stored event of a request (protocol/gateway 16.2). */
export interface RequestEvent {
  readonly phase: 'started' | 'completed'
  readonly sequence: number
  readonly at: string
  readonly hash: string
  readonly method?: string
  readonly route?: string
  readonly status?: number
  readonly elapsed_us?: number
  readonly context?: {
    readonly client_id?: string
    readonly auth_method?: string
    readonly policy_revision?: string
    readonly reason?: string
    readonly network?: string
    readonly operation?: string
    readonly admin_key_id?: string
    readonly upstream_status?: number
    readonly upstream_request_id?: string
    readonly outcome_uncertain?: boolean
    readonly trust_decision?: { readonly trusted: boolean; readonly reasons: readonly string[] }
  }
}

export interface RequestEvents {
  readonly durable_audit: boolean
  readonly searched_events: number
  readonly events: readonly RequestEvent[]
}

export async function loadRequestEvents(
  requestId: string,
  token: string,
): Promise<{ readonly found: RequestEvents } | { readonly refused: Reply }> {
  const target = GATEWAY_ROUTES.auditEvents.path.replace('{request_id}', () => encodeURIComponent(requestId))
  const reply = await sendRequest({ method: 'GET', target, token })
  // Page and gateway are of one release, so the response has the type above.
  return isSuccess(reply) ? { found: JSON.parse(reply.text) as RequestEvents } : { refused: reply }
}

/** One step of a request, as the audit stored it. */
export interface RequestStep {
  readonly title: string
  readonly note: string
  readonly isGood: boolean
  readonly facts: readonly (readonly [name: string, value: string])[]
}

/** Puts the events into the order in which things happened. */
export function toSteps(events: readonly RequestEvent[]): readonly RequestStep[] {
  const started = events.find(({ phase }) => phase === 'started')
  const completed = events.find(({ phase }) => phase === 'completed')
  const context = completed?.context ?? {}
  const steps: RequestStep[] = []
  if (started !== undefined)
    steps.push({
      title: 'Received',
      note: `${started.method ?? ''} ${started.route ?? ''}`,
      isGood: true,
      facts: [...placeOf(started), ...given('Token of', context.client_id), ...given('By', context.auth_method)],
    })
  if (context.trust_decision !== undefined)
    steps.push({
      title: context.trust_decision.trusted ? 'Certificate accepted' : 'Certificate not accepted',
      note: context.network ?? '',
      isGood: context.trust_decision.trusted,
      facts: given('Reasons', context.trust_decision.reasons.join(', ')),
    })
  if (context.upstream_status !== undefined)
    steps.push({
      title: 'Answered by the authority',
      note: `${context.network ?? ''} · ${context.operation ?? ''}`,
      isGood: context.upstream_status < 400,
      facts: [
        ['Status', String(context.upstream_status)],
        ...given('Signed by', context.admin_key_id),
        ...given('Request id there', context.upstream_request_id),
      ],
    })
  if (completed !== undefined) steps.push(toEnd(completed))
  return steps
}

function toEnd(completed: RequestEvent): RequestStep {
  const { status = 0, elapsed_us = 0, context = {} } = completed
  return {
    title: context.outcome_uncertain === true ? 'Outcome unknown' : status < 400 ? 'Completed' : 'Refused',
    note: `status ${status} after ${(elapsed_us / 1000).toFixed(1)} ms`,
    isGood: status < 400 && context.outcome_uncertain !== true,
    facts: [
      ...placeOf(completed),
      ...given('Reason', context.reason),
      ...given('Policy revision', context.policy_revision),
    ],
  }
}

function placeOf({ sequence, at, hash }: RequestEvent): RequestStep['facts'] {
  return [
    ['Time', at],
    ['Audit event', `number ${sequence}, hash ${hash}`],
  ]
}

function given(name: string, value: string | undefined): RequestStep['facts'] {
  return value === undefined || value === '' ? [] : [[name, value]]
}

import type { JsonObject } from '@chancery/protocol'
import type { AuditPage, NetworkFinding } from '@chancery/sdk'
import type { JSX } from 'preact'
import { at, read } from '../../client.ts'
import { session } from '../../key.ts'
import { Drawer, Shape, type ShapeName, State, type Tone } from '../../parts/drawer.tsx'
import { Time } from '../../parts/time.tsx'
import { useLive } from '../../parts/use-live.ts'
import { eventActor, eventText } from '../../words/events.ts'
import { Command } from '../../parts/id.tsx'
import { Facts } from '../../parts/facts.tsx'

/** Rows of a part of the overview. A phone shows half of them, so that the page has at most three screens. */
export const mostRows = (): number => (matchMedia('(max-width: 720px)').matches ? 4 : 8)

/** Changes of the network, at most 10 types: what the authority takes in one request. */
const MARKS: Readonly<Record<string, { readonly shape: ShapeName; readonly tone: Tone }>> = {
  certificate_issued: { shape: 'circle', tone: 'good' },
  certificate_revoked: { shape: 'cross', tone: 'ended' },
  invite_created: { shape: 'dashed', tone: 'ended' },
  recognition_treaty_issued: { shape: 'circle', tone: 'good' },
  recognition_treaty_revoked: { shape: 'cross', tone: 'ended' },
  membership_attestation_issued: { shape: 'circle', tone: 'good' },
  membership_attestation_revoked: { shape: 'cross', tone: 'ended' },
  boundary_policy_activated: { shape: 'circle', tone: 'good' },
  boundary_policy_deactivated: { shape: 'dash', tone: 'ended' },
  operator_key_revoked: { shape: 'cross', tone: 'ended' },
}

interface Change {
  readonly event_id: string
  readonly event_type: string
  readonly created_at: string
  readonly details: JsonObject
}

export function Changes(): JSX.Element {
  const { value } = useLive(
    'recent changes',
    (signal) => read<AuditPage>(at`/admin/audit`, { event: Object.keys(MARKS).join(','), limit: mostRows() }, signal),
    ['audit'],
  )
  const changes = (value?.events ?? []) as unknown as readonly Change[]
  return (
    <section class="panel">
      <header>
        <h2>Recent changes</h2>
        <div class="end">
          <a class="btn ghost tiny" href="/operator/audit">
            All in Audit
          </a>
        </div>
      </header>
      {value !== undefined && changes.length === 0 ? (
        <p class="body quiet">None yet.</p>
      ) : (
        <ul class="changes" aria-busy={value === undefined}>
          {changes.map(({ event_id, event_type, created_at, details }) => (
            <li key={event_id}>
              <Shape {...(MARKS[event_type] ?? { shape: 'circle', tone: 'ended' })} />
              <span>
                {eventText(event_type, details)}{' '}
                <span class="quiet">· {eventActor(event_type, details, session.get()?.keyId ?? '')}</span>
              </span>
              <Time at={created_at} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

/** How a finding ends that the console cannot end: what to do on the machine of the authority. */
export function HowDrawer(props: {
  readonly check: string
  /** Undefined when the check finds no problem any more. */
  readonly finding: NetworkFinding | undefined
  readonly onClose: () => void
}): JSX.Element {
  const { check, finding, onClose } = props
  if (finding === undefined)
    return (
      <Drawer name="how" title="No problem" isReading onClose={onClose}>
        <p>
          <State shape="tick" tone="good" word={`The check ${check} finds no problem.`} />
        </p>
      </Drawer>
    )
  const command = /chancery [^:;.]+/.exec(finding.fix)?.[0].trim()
  return (
    <Drawer
      name="how"
      title={finding.found}
      {...(finding.effect === null ? {} : { sentence: finding.effect })}
      isReading
      onClose={onClose}
    >
      <p>{finding.fix}</p>
      {command === undefined ? null : <Command text={command} />}
      <Facts
        of={[
          ['Check', <code class="mono">{check}</code>],
          ...(finding.at === null ? [] : [['Time', <Time at={finding.at} both />] as const]),
          ['Same report', <code class="mono">chancery findings</code>],
        ]}
      />
      <p class="quiet">This page checks again every 15 seconds. The finding leaves the overview when it is fixed.</p>
    </Drawer>
  )
}

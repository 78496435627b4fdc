import type { JsonObject } from '@chancery/protocol'
import type { AuditPage } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { at, read } from '../../client.ts'
import { session } from '../../key.ts'
import { Shape, type ShapeName, type Tone } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { useLive } from '../../parts/use-live.ts'
import { mostRows } from './most-rows.ts'

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
    // The sentences of all events are loaded while the authority answers: the page shows the rest before.
    async (signal) => {
      const asked = { event: Object.keys(MARKS).join(','), limit: mostRows() }
      const [page, words] = await Promise.all([
        read<AuditPage>(at`/admin/audit`, asked, signal),
        import('../../words/events.ts'),
      ])
      return { page, words }
    },
    ['audit'],
  )
  const changes = (value?.page.events ?? []) as unknown as readonly Change[]
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
                {value?.words.eventText(event_type, details)}{' '}
                <span class="quiet">· {value?.words.eventActor(event_type, details, session.get()?.keyId ?? '')}</span>
              </span>
              <Time at={created_at} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

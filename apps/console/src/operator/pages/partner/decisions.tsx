import { isJsonObject } from '@chancery/protocol'
import type { JSX } from 'preact'
import { plain } from '../../../components/plain.ts'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import type { DecisionEntry } from './load.ts'

/** The last decisions about requests of its members. */
export function DecisionsPanel(props: {
  readonly id: string
  readonly decisions: readonly DecisionEntry[] | undefined
}): JSX.Element {
  const { id, decisions } = props
  return (
    <section class="panel">
      <header>
        <h2>What its members did here</h2>
        <div class="end">
          <a class="btn ghost tiny" href={`/operator/decisions?requester_sovereign_id=${encodeURIComponent(id)}`}>
            All decisions
          </a>
        </div>
      </header>
      {decisions === undefined ? (
        <p class="body quiet">The evidence store is off (EVIDENCE_STORE), so decisions are not stored.</p>
      ) : decisions.length === 0 ? (
        <p class="body quiet">No decision is stored about them.</p>
      ) : (
        <div class="table" role="region" aria-label="Last decisions" tabIndex={0}>
          <table>
            <tbody>
              {decisions.map((row) => (
                <DecisionRow key={row.entry.store_sequence} row={row} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

function DecisionRow({ row: { entry, payload } }: { readonly row: DecisionEntry }): JSX.Element {
  const isAllowed = entry.outcome === 'authorized'
  const { decision } = payload
  const reason = isJsonObject(decision) ? decision['denial_reason'] : null
  return (
    <tr>
      <td>
        <State
          shape={isAllowed ? 'circle' : 'square'}
          tone={isAllowed ? 'good' : 'bad'}
          word={isAllowed ? 'Allowed' : 'Denied'}
        />
      </td>
      <td>
        <a class="name" href={`/operator/decisions/${encodeURIComponent(entry.decision_id ?? '')}`}>
          {entry.vendor_id ?? 'unnamed'}
        </a>
      </td>
      <td class="mono">{entry.capability}</td>
      <td>{isAllowed ? 'all gates passed' : <span class="no">{plain(reason ?? undefined)}</span>}</td>
      <td class="num">
        <Time at={entry.recorded_at} />
      </td>
    </tr>
  )
}

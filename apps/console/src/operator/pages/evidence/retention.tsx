import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { authorityNow } from '../../client.ts'
import { Facts } from '../../parts/facts.tsx'
import { withQuery } from '../../router.ts'
import { olderThanDays } from './older-than.ts'
import type { ViewProps } from './status.ts'

/** What retention removed, and the action that removes more. */
export function Retention({ status }: ViewProps): JSX.Element {
  const [date, setDate] = useState(new Date(authorityNow() - 365 * 86_400_000).toISOString().slice(0, 10))
  const days = olderThanDays(date, authorityNow())
  const removed = status?.retention_checkpoint ?? null
  return (
    <div class="content">
      <section class="panel">
        <header>
          <h2>Retention</h2>
        </header>
        <div class="body">
          <Facts
            of={[
              ['Removed', removed === null ? 'nothing yet' : `entries up to #${removed}, with a signed checkpoint`],
              ['Stored', status === undefined ? undefined : `${status.entries.toLocaleString('en')} entries`],
            ]}
          />
          <p class="quiet gap">
            Retention verifies the oldest entries, removes those recorded before the date, and stores a signed
            checkpoint. It stops at the first entry that must stay.
          </p>
          <div class="field">
            <label for="retention-date">Remove entries recorded before</label>
            <input
              class="input"
              id="retention-date"
              placeholder="2026-01-31"
              value={date}
              onInput={({ currentTarget }) => setDate(currentTarget.value.trim())}
            />
            <span class="hint">
              {days === undefined
                ? 'A date before today, as year-month-day.'
                : `Entries older than ${days} days. The drawer shows what is signed.`}
            </span>
          </div>
          {days === undefined ? null : (
            <a class="btn" href={withQuery({ do: 'retention', date })}>
              Remove entries…
            </a>
          )}
        </div>
      </section>
    </div>
  )
}

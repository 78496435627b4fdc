import type { OperatorIdentity, OperatorKeyList, OperatorKeyRow } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { at, read } from '../../client.ts'
import { lockEverywhere, session } from '../../key.ts'
import type { PageProps } from '../../pages.ts'
import { Bar } from '../../parts/bar.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Id, shortId } from '../../parts/id.tsx'
import { Problem } from '../../parts/problem.tsx'
import { State } from '../../parts/state.tsx'
import { useLive } from '../../parts/use-live.ts'
import { withQuery } from '../../router.ts'
import { Acts } from '../../signing/review.tsx'
import { AuthorityPanels } from './authority.tsx'
import { Panel } from './panel.tsx'
import { revokeKeyAct } from './revoke-key.ts'

/** Which keys are accepted here, and until when? */
export function Page({ query }: PageProps): JSX.Element {
  const who = useLive('whoami', (signal) => read<OperatorIdentity>(at`/admin/whoami`, {}, signal))
  const keys = useLive('operator keys', (signal) => read<OperatorKeyList>(at`/admin/operator-keys`, {}, signal), [
    'keys',
  ])
  const problem = keys.problem ?? who.problem
  const own = session.get()?.keyId ?? ''
  const chosen = keys.value?.operator_keys.find(({ key_id }) => key_id === query.get('key'))
  return (
    <>
      <Bar title="Keys & settings" asks="Which keys are accepted here, and until when?" live={keys}>
        <button type="button" class="btn" onClick={() => lockEverywhere('You locked the console.')}>
          <Icon name="lock" />
          Lock now
        </button>
      </Bar>
      <div class="content">
        {problem === undefined ? null : <Problem problem={problem} />}
        <div class="split">
          <div class="stack">
            {who.value === undefined ? null : <YourKey who={who.value} />}
            <OperatorKeys rows={keys.value?.operator_keys} own={own} />
            <Panel title="Executor keys">
              <p class="body quiet">
                Keys that sign reports of executed actions.{' '}
                <a href="/operator/evidence?view=keys">Open executor keys</a>
              </p>
            </Panel>
          </div>
          <AuthorityPanels who={who.value} />
        </div>
      </div>
      <Acts of={chosen === undefined ? [] : [revokeKeyAct(chosen.key_id, chosen.key_id === own)]} query={query} />
    </>
  )
}

function YourKey({ who }: { readonly who: OperatorIdentity }): JSX.Element {
  const { operator_read: reads, admin } = who.limits
  return (
    <Panel title="Your key, in this browser" end={<State shape="circle" tone="good" word="Unlocked" />} sealed>
      <div class="body">
        <Facts
          of={[
            ['Key id', <b>{who.key_id}</b>],
            ['Tier', who.tier === 'privileged' ? 'privileged · may also revoke and activate' : who.tier],
            ['Public key', <Id id={who.public_key} what="your public key" whole />],
            ['Stored', 'in the memory of this window only'],
            ['Locks', `after ${who.console_key_idle_minutes} min without input, and 8 h after the unlock`],
            ['Reads left', `${reads.left} of ${reads.limit} in ${reads.window_seconds} s`],
            ['Changes left', `${admin.left} of ${admin.limit} in ${admin.window_seconds} s, by ${admin.counted_by}`],
          ]}
        />
      </div>
    </Panel>
  )
}

function OperatorKeys(props: {
  readonly rows: readonly OperatorKeyRow[] | undefined
  readonly own: string
}): JSX.Element {
  return (
    <Panel
      title="Operator keys"
      end={
        <a class="btn tiny" href="/operator/help">
          How to add one
        </a>
      }
    >
      <div
        class="table rows"
        role="region"
        aria-label="Operator keys"
        tabIndex={0}
        aria-busy={props.rows === undefined}
      >
        <table>
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">Tier</th>
              <th scope="col">State</th>
              <th scope="col">Last used</th>
              <th scope="col">
                <span class="unseen">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {(props.rows ?? []).map((row) => (
              <KeyRow key={row.key_id} row={row} isOwn={row.key_id === props.own} />
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}

function KeyRow({ row, isOwn }: { readonly row: OperatorKeyRow; readonly isOwn: boolean }): JSX.Element {
  return (
    <tr data-key={row.key_id}>
      <td class="p-a">
        <span class="two">
          <b>{row.key_id}</b> {isOwn ? <span class="quiet">you</span> : null}
        </span>
        <span class="two id">{row.public_key === null ? 'not configured' : shortId(row.public_key, 12)}</span>
      </td>
      <td class="p-c">{row.tier ?? '–'}</td>
      <td class="p-b">
        <State {...keyState(row)} />
      </td>
      <td>{row.last_used ?? <span class="quiet">no use stored</span>}</td>
      <td class="num p-d">
        {row.revoked_at === null ? (
          <a
            class="btn tiny danger"
            href={withQuery({ do: 'revoke', key: row.key_id })}
            aria-label={`Revoke ${row.key_id}`}
          >
            Revoke…
          </a>
        ) : (
          <span class="quiet">
            {[row.reason, row.revoked_by === null ? null : `by ${row.revoked_by}`].filter(Boolean).join(', ')}
          </span>
        )}
      </td>
    </tr>
  )
}

function keyState(row: OperatorKeyRow): Parameters<typeof State>[0] {
  if (row.revoked_at !== null) return { shape: 'cross', tone: 'ended', word: `Revoked ${row.revoked_at.slice(0, 10)}` }
  return row.usable
    ? { shape: 'circle', tone: 'good', word: 'Usable' }
    : { shape: 'dash', tone: 'ended', word: 'Not usable' }
}

import type { ExecutorKey } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { at, read } from '../../client.ts'
import { Id } from '../../parts/id.tsx'
import { type Column, List, type ListPage, type ListRequest } from '../../parts/list.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { withQuery } from '../../router.ts'
import { doHref } from '../../signing/review.tsx'
import type { ViewProps } from './status.ts'

const COLUMNS: readonly Column<ExecutorKey>[] = [
  { head: 'Key', phone: 'a', cell: ({ key_id }) => <b class="name">{key_id}</b> },
  {
    head: 'State',
    phone: 'b',
    cell: ({ retired_at }) => (
      <State
        shape={retired_at === null ? 'circle' : 'cross'}
        tone={retired_at === null ? 'good' : 'ended'}
        word={retired_at === null ? 'Active' : 'Retired'}
      />
    ),
  },
  { head: 'Executor', phone: 'c', cell: ({ executor_sovereign_id }) => executor_sovereign_id },
  { head: 'Public key', low: 'low', cell: ({ public_key }) => <Id id={public_key} what="the public key" /> },
  { head: 'Registered', phone: 'd', cell: ({ registered_at }) => <Time at={registered_at} /> },
  {
    head: 'Retired',
    low: 'low2',
    cell: ({ retired_at, key_id }) =>
      retired_at === null ? (
        <a href={withQuery({ do: 'retire', key: key_id })}>Retire {key_id}…</a>
      ) : (
        <Time at={retired_at} />
      ),
  },
]

/** Keys that may sign executions. Retired keys still verify what they signed. */
export function ExecutorKeys({ onLive }: ViewProps): JSX.Element {
  const register = (
    <a class="btn" href={doHref('register')}>
      Register a key…
    </a>
  )
  return (
    <List<ExecutorKey>
      name="Executor keys"
      topics={['evidence']}
      columns={COLUMNS}
      rowId={({ key_id }) => key_id}
      rowName={({ key_id }) => key_id}
      filters={[]}
      aside={register}
      load={load}
      order="as registered"
      empty={{
        icon: 'key',
        title: 'No executor key is registered',
        text: 'An executor signs what it did with a key that you register here.',
        action: register,
      }}
      onLive={onLive}
    />
  )
}

async function load({ signal }: ListRequest): Promise<ListPage<ExecutorKey>> {
  const path = at`/admin/evidence/executor-keys`
  const { executor_keys } = await read<{ readonly executor_keys: readonly ExecutorKey[] }>(path, {}, signal)
  return { rows: executor_keys, nextCursor: null, total: executor_keys.length }
}

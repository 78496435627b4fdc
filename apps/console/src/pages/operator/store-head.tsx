import { isJsonObject } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { RefusedError } from '@chancery/sdk'
import type { Client } from '@chancery/sdk'
import { useEffect, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../../authority.ts'
import { Badge } from '../../components/badge.tsx'
import { Fact } from '../../components/fact.tsx'
import { plain } from '../../components/plain.ts'

/** Shows the size of the evidence store and how much of it is anchored. For operators only. */
export function StoreHead({ client }: { readonly client: Client }): JSX.Element | null {
  const [status, setStatus] = useState<JsonObject>()
  const [problem, setProblem] = useState('')
  const load = (): void => {
    client.evidence.status().then(setStatus, (error: unknown) => setProblem(reason(error)))
  }
  useEffect(load, [client])
  if (problem !== '') return <p class="empty">{problem}</p>
  if (status === undefined) return null
  const anchor = status['latest_anchor']
  const open = Number(status['unanchored_entries'])
  return (
    <dl class="facts" data-store-head={plain(status['last_store_sequence'])}>
      <Fact
        name="Entries"
        value={`${plain(status['entries'])}, the last is #${plain(status['last_store_sequence'])}`}
      />
      <Fact name="Refused records" value={plain(status['rejections'])} />
      <Fact name="Executor keys" value={plain(status['active_executor_keys'])} />
      <Fact
        name="Newest anchor"
        value={
          isJsonObject(anchor)
            ? `${plain(anchor['anchor_sequence'])}, of entry #${plain(anchor['store_sequence'])}, ${plain(anchor['anchored_at'])}`
            : 'none'
        }
      />
      <div>
        <dt>Not anchored</dt>
        <dd>
          <Badge tone={open === 0 ? 'good' : 'watch'} word={`${open} entries`} />{' '}
          <button type="button" class="link" onClick={load}>
            Read again
          </button>
        </dd>
      </div>
    </dl>
  )
}

function reason(error: unknown): string {
  if (error instanceof RefusedError && error.code === 'evidence_store_disabled')
    return 'The evidence store is off. Set EVIDENCE_STORE=on to store decisions and executions.'
  return explain(error)
}

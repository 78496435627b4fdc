import type { GenesisBlock } from '@chancery/protocol'
import type { Health, OperatorIdentity, Readiness } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { at, readPublic } from '../../client.ts'
import { Facts } from '../../parts/facts.tsx'
import { Id } from '../../parts/id.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { useLive } from '../../parts/use-live.ts'
import { genesisFingerprint } from '../../pin.ts'
import { Panel } from './panel.tsx'

/** The authority, this instance, and the settings that operators work with. */
export function AuthorityPanels({ who }: { readonly who: OperatorIdentity | undefined }): JSX.Element {
  const genesis = useLive('genesis', (signal) => readPublic<GenesisBlock>(at`/genesis`, signal)).value
  const ready = useLive('readyz', (signal) => readPublic<Readiness>(at`/readyz`, signal))
  const health = useLive('health', (signal) => readPublic<Health>(at`/health`, signal)).value
  return (
    <div class="stack">
      {genesis === undefined ? null : <Authority genesis={genesis} signingKey={ready.value?.signing_key} />}
      <Instance ready={ready.value} isRefused={ready.problem !== undefined} />
      <Panel title="Settings">
        <div class="body">
          <Facts
            of={[
              ['Policies', health === undefined ? undefined : `enforcement ${health.boundary_policy_enforcement}`],
              ['Evidence', health?.evidence_store],
              ['Heartbeat', seconds(who?.heartbeat_seconds, 'every ')],
              ['Silent after', seconds(who?.silent_after_seconds)],
              ['Renewal grace', seconds(who?.renewal_grace_seconds)],
              ['Invited roles', who === undefined ? undefined : who.allowed_roles.join(', ') || 'any'],
            ]}
          />
          <p class="quiet small">
            The authority reads its settings at the start. Change them on its machine; this page cannot change them.
          </p>
        </div>
      </Panel>
    </div>
  )
}

const seconds = (value: number | undefined, before = ''): string | undefined =>
  value === undefined ? undefined : `${before}${value} s`

function Authority(props: {
  readonly genesis: GenesisBlock
  readonly signingKey: Readiness['signing_key']
}): JSX.Element {
  const { genesis, signingKey } = props
  return (
    <Panel title="Authority">
      <div class="body">
        <Facts
          of={[
            ['Network', `${genesis.network_name} ${genesis.network_version}`],
            ['Key', signingKey === undefined ? undefined : `${signingKey.key_id} · ${signingKey.provider}`],
            ['Fingerprint', <Id id={genesisFingerprint(genesis)} what="the fingerprint of the genesis block" whole />],
            ['Ends', <Time at={genesis.network_authority.valid_to} both />],
            ['Root key', <Id id={genesis.root_public_key} what="the root key" />],
          ]}
        />
      </div>
    </Panel>
  )
}

function Instance(props: { readonly ready: Readiness | undefined; readonly isRefused: boolean }): JSX.Element {
  const { ready, isRefused } = props
  const isReady = ready?.status === 'ready' && !isRefused
  return (
    <Panel title="This instance">
      <div class="body">
        <Facts
          of={[
            [
              'Ready',
              ready === undefined && !isRefused ? undefined : (
                <State
                  shape={isReady ? 'circle' : 'square'}
                  tone={isReady ? 'good' : 'bad'}
                  word={isReady ? 'Yes' : 'No'}
                />
              ),
            ],
            ['Instance', ready?.instance],
            [
              'Database',
              ready?.database === undefined
                ? undefined
                : `${ready.database.backend}, schema ${String(ready.database.schema_version)}`,
            ],
            ['Several instances', ready?.ha_mode],
            ['Limiter', ready?.rate_limiter],
            ['Warnings', ready?.warnings?.join(', ')],
          ]}
        />
      </div>
    </Panel>
  )
}

import { partners } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { CallOptions, Connection, WriteOptions } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import { json } from '../http/read-response.ts'
import { readPage, readPartner, readPull, readRemoved, readTreaties } from './partner-records.ts'
import type {
  Partner,
  PartnerChanges,
  PartnerPage,
  PartnerPin,
  PartnerPull,
  PartnerRequest,
  PartnerState,
  PartnerTreaties,
  RemovedPartner,
} from './partner-records.ts'

export interface PartnersApi {
  /** As operator. After an unknown outcome it is repeated only with an idempotency key. */
  add(request: PartnerRequest, options?: WriteOptions): Promise<Partner>
  list(
    query?: { readonly state?: PartnerState; readonly limit?: number; readonly cursor?: string },
    options?: CallOptions,
  ): Promise<PartnerPage>
  get(sovereign_id: string, options?: CallOptions): Promise<Partner>
  /** Members that are left out stay as they are. */
  update(sovereign_id: string, changes: PartnerChanges, options?: CallOptions): Promise<Partner>
  pull(sovereign_id: string, options?: CallOptions): Promise<PartnerPull>
  repin(
    sovereign_id: string,
    request: PartnerPin & { readonly reason: string },
    options?: CallOptions,
  ): Promise<Partner>
  clearAlarm(
    sovereign_id: string,
    request: { readonly alarm_id: string; readonly reason: string },
    options?: CallOptions,
  ): Promise<Partner>
  /** Own treaties stay. The response names those in force. */
  remove(
    sovereign_id: string,
    request?: { readonly reason?: string; readonly dryRun?: boolean },
    options?: CallOptions,
  ): Promise<RemovedPartner>
  /** What the partner reports. It decides nothing. */
  treaties(
    sovereign_id: string,
    query?: { readonly limit?: number; readonly cursor?: string },
    options?: CallOptions,
  ): Promise<PartnerTreaties>
}

// oxlint-disable-next-line max-lines-per-function -- one member per call
export function partnersApi({ call }: Connection): PartnersApi {
  const partner = json(readPartner)
  return {
    add: (request, options) =>
      call({
        route: partners.add,
        body: omitUndefined({ ...request }),
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: partner,
        options,
      }),
    list: (query = {}, options) => call({ route: partners.list, query: { ...query }, read: json(readPage), options }),
    get: (sovereign_id, options) => call({ route: partners.find, params: { sovereign_id }, read: partner, options }),
    update: (sovereign_id, changes, options) =>
      call({
        route: partners.update,
        params: { sovereign_id },
        body: omitUndefined({ ...changes }),
        repeatable: true,
        read: partner,
        options,
      }),
    pull: (sovereign_id, options) =>
      call({
        route: partners.pull,
        params: { sovereign_id },
        body: {} satisfies JsonObject,
        repeatable: false,
        read: json(readPull),
        options,
      }),
    repin: (sovereign_id, request, options) =>
      call({
        route: partners.repin,
        params: { sovereign_id },
        body: omitUndefined({ ...request }),
        repeatable: true,
        read: partner,
        options,
      }),
    clearAlarm: (sovereign_id, request, options) =>
      call({
        route: partners.clearAlarm,
        params: { sovereign_id },
        body: { ...request },
        repeatable: true,
        read: partner,
        options,
      }),
    remove: (sovereign_id, { reason, dryRun } = {}, options) =>
      call({
        route: partners.remove,
        params: { sovereign_id },
        body: omitUndefined({ reason, dry_run: dryRun === true ? true : undefined }),
        repeatable: dryRun === true,
        read: json(readRemoved),
        options,
      }),
    treaties: (sovereign_id, query = {}, options) =>
      call({
        route: partners.treaties,
        params: { sovereign_id },
        query: { ...query },
        read: json(readTreaties),
        options,
      }),
  }
}

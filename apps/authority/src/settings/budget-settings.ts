import { integer, setting } from '@chancery/service-kit'

/** Settings of budgets. The limits themselves stand in policies and treaties. */
export const BUDGET_SETTINGS = {
  budgetsMax: setting({
    name: 'NA_BUDGETS_MAX',
    help: 'Counters with an open window; a further one is not available, which denies. One requester has at most a tenth.',
    read: integer({ min: 1, max: 10_000_000 }),
    default: 100_000,
  }),
  budgetWarningPercent: setting({
    name: 'NA_BUDGET_WARNING_PERCENT',
    help: 'Percent of a limit from which a finding and an audit event say so.',
    read: integer({ min: 50, max: 99 }),
    default: 80,
  }),
  budgetCheckSeconds: setting({
    name: 'NA_BUDGET_CHECK_SECONDS',
    help: 'Seconds after which the counters are computed again from the evidence store.',
    read: integer({ min: 60, max: 86_400 }),
    default: 3600,
  }),
} as const

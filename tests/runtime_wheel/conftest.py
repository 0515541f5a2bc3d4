from tests.strict_driver.conftest import driver  # noqa: F401

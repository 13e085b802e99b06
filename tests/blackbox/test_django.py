"""Django as it comes: its own migrations, models of ours with a second migration, rows, aggregates, transactions, cursors.

What it asks for is what `manage.py migrate` and `manage.py inspectdb` ask.
"""

import subprocess
import sys

import psycopg
import pytest

FILES = {
    "settings.py": """
import os
from urllib.parse import urlsplit
place = urlsplit(os.environ["SLUICE_PSQL"])
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": place.path[1:], "USER": place.username,
                         "PASSWORD": place.password, "HOST": place.hostname, "PORT": place.port}}
INSTALLED_APPS = ["django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.messages",
                  "django.contrib.sessions", "people"]
MIDDLEWARE = ["django.contrib.sessions.middleware.SessionMiddleware",
              "django.contrib.auth.middleware.AuthenticationMiddleware",
              "django.contrib.messages.middleware.MessageMiddleware"]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True, "OPTIONS": {
    "context_processors": ["django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
                           "django.contrib.messages.context_processors.messages"]}}]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
SECRET_KEY = "of a test"
""",
    "people/__init__.py": "",
    "people/models.py": """
from django.db import models

class Team(models.Model):
    name = models.CharField(max_length=40, unique=True)
    motto = models.CharField(max_length=40, default="")

class Person(models.Model):
    name = models.CharField(max_length=40, db_index=True)
    exact = models.DecimalField(max_digits=10, decimal_places=2, null=True)
    at = models.DateTimeField(null=True)
    born = models.DateField(null=True)
    ok = models.BooleanField(default=False)
    data = models.JSONField(null=True)
    key = models.UUIDField(null=True)
    notes = models.TextField(default="")
    team = models.ForeignKey(Team, models.CASCADE, null=True)
""",
    "people/migrations/__init__.py": "",
    "walk.py": """
import datetime, uuid
from decimal import Decimal
import django
django.setup()
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.db.models import Avg, Count, F, Q
from django.db.models.functions import TruncMonth
from people.models import Person, Team

AT = datetime.datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=datetime.timezone.utc)
blue = Team.objects.create(name="blue")
ada = Person.objects.create(name="Ada", exact=Decimal("12.34"), at=AT, born=AT.date(), ok=True, data={"tags": ["a", "b"]},
                            key=uuid.UUID(int=7), team=blue)
Person.objects.bulk_create([Person(name="it's %d" % n, exact=n + Decimal("0.25"), at=AT + datetime.timedelta(days=n),
                                   data={"n": n}, key=uuid.UUID(int=n)) for n in range(40)])
found = Person.objects.get(pk=ada.pk)
assert (found.exact, found.at, found.born, found.ok, found.data, found.key) == (
    Decimal("12.34"), AT, AT.date(), True, {"tags": ["a", "b"]}, uuid.UUID(int=7)), vars(found)
seventh = Person.objects.get(name="it's 7")
assert (seventh.exact, seventh.data, seventh.team_id) == (Decimal("7.25"), {"n": 7}, None), vars(seventh)
assert Person.objects.filter(Q(name__startswith="it") | Q(team__name="blue"), at__gte=AT).count() == 41
assert Person.objects.filter(name__icontains="ADA").values_list("team__name", flat=True).get() == "blue"
assert Person.objects.aggregate(n=Count("id"), mean=Avg("exact"))["n"] == 41
assert len(Person.objects.annotate(month=TruncMonth("at")).values("month").annotate(n=Count("id")).order_by("month")) == 3
assert Person.objects.filter(exact__gte=20).update(exact=F("exact") + 1) == 20
assert [person.name for person in Person.objects.order_by("id")[1:3]] == ["it's 0", "it's 1"]
assert Person.objects.filter(born__year=2024, at__date=AT.date()).count() == 1
assert sum(1 for _ in Person.objects.order_by("id").iterator(chunk_size=10)) == 41
got, made = Team.objects.get_or_create(name="blue")
assert (got, made) == (blue, False)
Team.objects.bulk_create([Team(name="blue"), Team(name="red")], ignore_conflicts=True)
Team.objects.bulk_create([Team(name="red", motto="first")], update_conflicts=True, unique_fields=["name"],
                         update_fields=["motto"])
assert sorted(Team.objects.values_list("name", "motto")) == [("blue", ""), ("red", "first")]
try:
    with transaction.atomic():
        Person.objects.all().delete()
        raise RuntimeError
except RuntimeError:
    pass
with transaction.atomic():
    locked = Person.objects.select_for_update().get(pk=ada.pk)
    with transaction.atomic():
        Person.objects.filter(pk=locked.pk).update(name="Eve")
assert Person.objects.count() == 41 and Person.objects.select_related("team").get(pk=ada.pk).name == "Eve"
user = User.objects.create_user("somebody", "a@b.example", "a password")
user.groups.add(Group.objects.create(name="readers"))
assert User.objects.get(username="somebody", groups__name="readers").check_password("a password")
assert "people_person" in connection.introspection.table_names()
blue.delete()
assert Person.objects.count() == 40
""",
}


@pytest.fixture
def manage(platform, tmp_path):
    """Runs Django's commands, and drops its tables behind them."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def ran(*arguments):
        environment = {"SLUICE_PSQL": platform.psql, "DJANGO_SETTINGS_MODULE": "settings", "PYTHONPATH": str(tmp_path),
                       "PYTHONDONTWRITEBYTECODE": "1"}
        run = subprocess.run([sys.executable, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True,
                             timeout=120, check=False)
        assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]
        return run.stdout

    yield ran
    with psycopg.connect(platform.psql, autocommit=True) as connection:
        made = "select relname from pg_class where relkind = 'r' and relname ~ '^(auth|django|people)_'"
        for (table,) in connection.execute(made).fetchall():
            connection.execute(f'drop table "{table}"')


def test_django_migrates_writes_reads_and_inspects(manage, tmp_path):
    manage("-m", "django", "makemigrations", "people")
    manage("-m", "django", "migrate")
    models = tmp_path / "people/models.py"
    models.write_text(models.read_text() + "    age = models.IntegerField(default=7)\n")
    manage("-m", "django", "makemigrations", "people")
    manage("-m", "django", "migrate")
    inspected = manage("-m", "django", "inspectdb", "people_person")
    for line in ["id = models.BigAutoField(primary_key=True)", "data = models.JSONField(blank=True, null=True)",
                 "age = models.IntegerField()"]:
        assert line in inspected, inspected
    manage("walk.py")
    manage("-m", "django", "migrate", "people", "zero")
